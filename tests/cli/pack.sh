# One file a model: packed, translated, evaluated, inspected; and every way to break it.
small_data source_lang=en target_lang=de
expect 0 "$FERRY" train data=data run=run d_model=32 d_ff=64 heads=2 encoder_layers=1 \
    decoder_layers=2 max_steps=4 save_every=2 eval_every=0 moving_average=0
head -n 7 en >seven
expect 0 "$FERRY" translate run seven
cp .out want

# Every precision; float gives what the run gives.
echo "Use it as you like." >licence
for precision in int8 fp16 fp32; do
    expect 0 "$FERRY" pack run out=$precision.ferry precision=$precision licence=licence pairs=5
    out_has 'BLEU'
    expect 0 "$FERRY" translate $precision.ferry seven
    [ "$(wc -l <.out)" -eq 7 ] || fail "seven lines in, seven lines out"
    cp .out $precision.out
done
cmp fp32.out want || fail "the packed model in float translates otherwise than its run"
[ "$(stat -c %s int8.ferry)" -lt "$(stat -c %s fp32.ferry)" ] || fail "int8 is not smaller"

# The profiles of its languages go with it; damaged ones are refused.
grep -q FERRYPRF int8.ferry || fail "the packed model has no profiles"
cp data/profiles good
echo bad >data/profiles
refuses 4 'data/profiles: these are no profiles' "$FERRY" pack run out=bad.ferry pairs=5
{ head -c 8 good; printf '\2'; tail -c +10 good; } >data/profiles
refuses 4 'data/profiles: the profiles of languages have version 2, which is newer; this program reads 1' \
    "$FERRY" pack run out=bad.ferry pairs=5
rm data/profiles
expect 0 "$FERRY" pack run out=without.ferry pairs=5
! grep -q FERRYPRF without.ferry || fail "profiles from nowhere"
cp good data/profiles

# The same bytes for the same model, and with any instructions and threads.
expect 0 "$FERRY" pack run out=again.ferry licence=licence pairs=5
cmp int8.ferry again.ferry || fail "packing twice gives other bytes"
expect 0 "$FERRY" translate int8.ferry seven scores=true
cp .out scored
for device in cpu-avx512 cpu-avx2 cpu-plain; do
    expect 0 "$FERRY" translate int8.ferry seven scores=true device=$device threads=3 workers=3
    cmp .out scored || fail "device=$device gives other bytes"
done

# What int8 would break stays float: it is named by pack, in the file and by inspect, and the rest
# is int8. Here those are the matrices that lose more than the median.
errors() { python3 -c 'import json; [print(m["error"], m["matrix"]) for m in json.load(open(".out"))["kept_float"]]' | sort -g; }
expect 0 "$FERRY" pack run out=kept.ferry keep_float=0 pairs=0
expect 0 "$FERRY" inspect kept.ferry json=true
errors >all
[ "$(wc -l <all)" -eq 19 ] || fail "there are 19 matrices"
limit=$(awk 'NR == 10 { x = $1 } NR == 11 { print (x + $1) / 2 }' all)
expect 0 "$FERRY" pack run out=kept.ferry keep_float="$limit" pairs=0
sed -n 's/^stays float \([^:]*\): int8 would lose 0\.[1-9] %$/\1/p' .out | sort >named
expect 0 "$FERRY" inspect kept.ferry json=true
errors | cut -d' ' -f2 | sort >inside
expect 0 "$FERRY" inspect kept.ferry
awk '$2 == "float" && $3 > 1 { print $1 }' .out | sort >float
tail -n 9 all | cut -d' ' -f2 | sort >want_float
for list in named inside float; do
    cmp $list want_float || fail "$list: not the nine matrices that lose most"
done
expect 0 "$FERRY" translate kept.ferry seven

# A shortlist, learned from the training pairs; it can be switched off.
expect 0 "$FERRY" pack run out=short.ferry shortlist=5 pairs=5
expect 0 "$FERRY" translate short.ferry seven scores=true
cp .out short.out
for how in "device=cpu-plain" "threads=3 workers=3" "batch_tokens=100"; do
    expect 0 "$FERRY" translate short.ferry seven scores=true $how
    cmp .out short.out || fail "$how changes what a shortlist gives"
done
expect 0 "$FERRY" translate short.ferry seven scores=true shortlist=false
cmp .out scored || fail "without its shortlist the model translates otherwise"

# What reads a model.
expect 0 "$FERRY" inspect int8.ferry
out_has 'packed model'
out_has 'Use it as you like.'
out_has 'decoder.1.cross.kv'
expect 0 "$FERRY" inspect int8.ferry json=true
expect 0 "$FERRY" eval int8.ferry data=data set=valid
out_has 'cross entropy'
refuses 2 'give data=DIR' "$FERRY" eval int8.ferry
refuses 2 'packed model runs on processors' "$FERRY" translate int8.ferry seven device=cuda
paste en de | head -5 >pairs
expect 0 "$FERRY" score-pairs int8.ferry pairs
[ "$(wc -l <.out)" -eq 5 ] || fail "five pairs, five lines"
cp .out scores
expect 0 "$FERRY" score-pairs int8.ferry pairs output=file threads=1 window=2
refuses 2 "would overwrite the input file" "$FERRY" score-pairs int8.ferry pairs output=./pairs
[ -s pairs ] || fail "the input of score-pairs is gone"
cmp file scores || fail "windows change scores"
expect 0 "$FERRY" score-pairs run pairs tokens=true
out_has '</s>:'
given "$(cat pairs)"
expect 0 "$FERRY" score_pairs int8.ferry
cmp .out scores || fail "standard input scores otherwise"

# the pairs themselves: a share of them, or those that are likely enough; whole lines as they came
paste en de | awk '{ print $0 "\tmore " NR }' >three
expect 0 "$FERRY" score-pairs int8.ferry three
cp .out scores
likeliest() { paste <(cut -f 2 scores) three | awk '{ print NR "\t" $0 }' | sort -t "$(printf '\t')" -k 2,2gr -k 1,1n |
    head -n "$1" | sort -n | cut -f 3-; }
for share in 1 0.3 0.004; do
    likeliest "$(awk "BEGIN { print int($share * $(wc -l <three) + 0.5) }")" >want
    expect 0 "$FERRY" score-pairs int8.ferry three keep=$share window=7
    cmp .out want || fail "keep=$share keeps others"
done
least=$(cut -f 2 scores | sort -gu | awk 'NR == 40 { low = $1 } NR == 41 { print (low + $1) / 2 }')
paste <(cut -f 2 scores) three | awk -F '\t' -v least="$least" '$1 + 0 > least' | cut -f 2- >want
given "$(cat three)"
expect 0 "$FERRY" score-pairs int8.ferry least="$least" window=7
cmp .out want || fail "least=$least keeps others"
expect 0 "$FERRY" score-pairs int8.ferry three least="$least" keep=1
cmp .out want || fail "with keep=1 least keeps others"
split -l 50 three part.
expect 0 "$FERRY" score-pairs int8.ferry part.a? keep=0.3 output=kept
likeliest 36 | cmp - kept || fail "several files are one text"
refuses 2 'reads its input twice' "$FERRY" score-pairs int8.ferry keep=0.5
refuses 2 'leave one of them out' "$FERRY" score-pairs int8.ferry three keep=0.5 tokens=true
for _ in 1 2; do # longer than a line of text may be, as a line with its translation
    yes 'eine Fähre' | head -n 100000 | tr '\n' ' '
    printf '\ta ferry\n'
done >long
expect 0 "$FERRY" score-pairs int8.ferry long
[ "$(wc -l <.out)" -eq 2 ] || fail "two long pairs, two lines"
expect 0 "$FERRY" score-pairs int8.ferry long keep=1
cmp .out long || fail "a long pair was changed"
echo "no tab here" >>pairs
refuses 4 'pairs: line 6 has no tab' "$FERRY" score-pairs int8.ferry pairs
refuses 2 'which model' "$FERRY" score-pairs
refuses 3 'no such run directory' "$FERRY" score-pairs missing pairs

# Mistakes of whoever packs.
refuses 2 'out is not set' "$FERRY" pack run
refuses 2 'which run' "$FERRY" pack out=x.ferry
refuses 2 'packed already' "$FERRY" pack int8.ferry out=x.ferry
refuses 3 'missing' "$FERRY" pack run out=x.ferry licence=missing
refuses 3 'missing' "$FERRY" pack run out=missing/x.ferry
printf 'caf\xe9' >latin
refuses 4 'not text in UTF-8' "$FERRY" pack run out=x.ferry licence=latin
[ ! -e x.ferry ] || fail "a refused model was written"
refuses 3 'missing' "$FERRY" pack run out=x.ferry data=missing
mv data moved
expect 0 "$FERRY" pack run out=blind.ferry
err_has 'uncalibrated'
expect 2 "$FERRY" pack run out=x.ferry shortlist=5
err_has 'a shortlist is learned from the training pairs'
expect 0 "$FERRY" pack run out=told.ferry data=moved licence=licence pairs=5
cmp told.ferry int8.ferry || fail "data elsewhere gives another model"

# Damage: each one sentence that names the file.
damaged() { # STATUS TEXT
    refuses "$1" "$2" "$FERRY" translate bad.ferry seven
    refuses "$1" "$2" "$FERRY" inspect bad.ferry
}
size=$(stat -c %s int8.ferry)
head -c $((size / 2)) int8.ferry >bad.ferry
damaged 4 'bad.ferry'
head -c 20 int8.ferry >bad.ferry
damaged 4 'bad.ferry'
for at in 3 9 200 $((size / 2)) $((size - 30)); do
    cp int8.ferry bad.ferry
    byte=$(od -An -tu1 -j $at -N 1 bad.ferry)
    printf "$(printf '\\x%02x' $(((byte + 64) % 256)))" |
        dd of=bad.ferry bs=1 seek=$at conv=notrunc 2>/dev/null
    refuses 4 'bad.ferry' "$FERRY" translate bad.ferry seven
done

# What is no model, or nobody else's business: said so, and nobody waits for a pipe.
mkfifo pipe
refuses 4 'pipe is no model' timeout 20 "$FERRY" translate pipe seven
: >nothing
refuses 4 'nothing is no model' "$FERRY" translate nothing seven
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
    other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    cp "$FERRY" other-ferry
    chmod 755 "$WORK" other-ferry
    chmod 600 int8.ferry
    chmod 700 run
    refuses 3 'int8.ferry: Permission denied' "${other[@]}" ./other-ferry translate int8.ferry
    refuses 3 'run: Permission denied' "${other[@]}" ./other-ferry translate run
fi
