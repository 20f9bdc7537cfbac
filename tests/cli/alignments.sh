# Which words became which: by translate, in Pharaoh format, and the layer that pack chooses.
small_data
expect 0 "$FERRY" train data=data run=run d_model=16 d_ff=32 heads=2 encoder_layers=1 \
    decoder_layers=2 max_steps=4 save_every=4 eval_every=0 moving_average=0
head -n 7 en >seven
printf '\nThe ferry. We wait!\n☺ ☺☺\n' >>seven

expect 0 "$FERRY" translate run seven
cp .out plain
expect 0 "$FERRY" translate run seven alignments=true
cp .out want
cut -f 1 want | cmp - plain || fail "asking for alignments changed a translation"
# Every word that is named is there, and every line with text has links.
python3 - seven want <<'PY' || fail "a link names a word that is not there"
import sys
for source, line in zip(open(sys.argv[1]), open(sys.argv[2])):
    target, links = line.rstrip("\n").split("\t")
    pairs = [tuple(map(int, x.split("-"))) for x in links.split()]
    assert len(pairs) == len(set(pairs)) and pairs == sorted(pairs, key=lambda p: p[::-1])
    assert bool(pairs) == bool(source.strip())
    assert all(s < len(source.split()) and t < len(target.split()) for s, t in pairs)
PY
[ "$(tail -n 1 want)" = $'☺ ☺☺\t0-0 1-1' ] || fail "a copy is not linked word by word"
for how in "threads=3 workers=3" "batch_tokens=40 window=2" "stream=true"; do
    expect 0 "$FERRY" translate run seven alignments=true $how
    cmp .out want || fail "$how changed an alignment"
done
expect 0 "$FERRY" translate run seven alignments=true scores=true
grep -qP '^[^\t]+\t-\d+\.\d{6}\t\d+-\d+' .out || fail "text, score and links are not three fields"
expect 0 "$FERRY" translate run seven alignments=true nbest=2
grep -qP '^0 \|\|\| .* \|\|\| -\d+\.\d{6} \|\|\| \d+-\d+( \d+-\d+)*$' .out || fail "no links in a list"
sed 's/$/\tdie  Fä/' seven >given.tsv
expect 0 "$FERRY" translate run given.tsv alignments=true prefix=true
grep -qP '^die  Fä.*\t\d+-\d+' .out || fail "no links of a given beginning"
expect 0 "$FERRY" translate run seven alignments=true sample=true
expect 0 "$FERRY" translate run seven alignments=true greedy=true

# Packed: the layer is measured where there is data, and the usual one where there is none.
expect 0 "$FERRY" pack run out=a.ferry pairs=0
out_has 'alignments  of decoder layer'
out_has 'of 2; F1 of each layer 0.'
expect 0 "$FERRY" pack run out=b.ferry pairs=0 threads=3
cmp a.ferry b.ferry || fail "threads changed the file"
expect 0 "$FERRY" inspect a.ferry
out_has 'alignment'
expect 0 "$FERRY" translate a.ferry seven alignments=true
mv data moved
expect 0 "$FERRY" pack run out=blind.ferry
out_has 'alignments  of decoder layer 2 of 2, the usual one'
