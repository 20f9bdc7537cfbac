# Translations that are told what to say, and every mistake one sentence.
small_data
expect 0 "$FERRY" train data=data run=run d_model=16 d_ff=32 heads=2 encoder_layers=1 \
    decoder_layers=2 max_steps=4 save_every=4 eval_every=0 moving_average=0
head -n 7 en >seven
expect 0 "$FERRY" translate run seven split=false
cp .out plain

# Given beginnings: of whole words, inside a word, with white space that stays; none is the plain search.
sed 's/$/\tdie Fä/' seven >given.tsv
expect 0 "$FERRY" translate run given.tsv --prefix
[ "$(grep -c '^die Fä' .out)" -eq 7 ] || fail "a translation does not begin as it must"
cp .out want
expect 0 "$FERRY" translate run given.tsv prefix=true threads=2 workers=2 batch_tokens=40
cmp .out want || fail "two workers gave something else"
expect 0 "$FERRY" translate run given.tsv prefix=true scores=true nbest=2
grep -qP '^6 \|\|\| die Fä.* \|\|\| -\d+\.\d{6}$' .out || fail "no nbest line of line 6"
expect 0 "$FERRY" translate run seven prefix=true
cmp .out plain || fail "without a beginning it is not the plain translation"
given $'the ferry\tdie  Fähre  \n\tnur das\n'
expect 0 "$FERRY" translate run prefix=true
grep -q '^die  Fähre  ' .out || fail "the white space of the beginning changed"
grep -qx 'nur das' .out || fail "without a source the beginning should stand"
given $'the ferry\tdie\tFähre\n'
expect 4 "$FERRY" translate run prefix=true
err_has 'standard input: line 1: there are two tabs'
printf 'the ferry\tdie \xff\n' >broken
expect 4 "$FERRY" translate run broken prefix=true invalid=refuse
err_has 'broken: line 1 is not valid UTF-8'
expect 0 "$FERRY" translate run broken prefix=true
err_has '1 of 1 lines hold bytes that are not UTF-8'
given $'the ferry\tdie Fähre überquert den Fluss\n'
expect 4 "$FERRY" translate run prefix=true max_length=8
err_has 'line 1: the given beginning has'

# Samples: as many as asked for, reproducible, the same line the same sample, another seed another.
expect 0 "$FERRY" translate run seven sample=true nbest=3
[ "$(wc -l <.out)" -eq 21 ] || fail "three samples of seven lines are 21"
cp .out want
expect 0 "$FERRY" translate run seven sample=true nbest=3 threads=2 workers=2 batch_tokens=30 window=2
cmp .out want || fail "workers or windows changed the samples"
cat seven seven >twice
expect 0 "$FERRY" translate run twice sample=true
head -n 7 .out >one
tail -n 7 .out | cmp - one || fail "the same line has another sample"
expect 0 "$FERRY" translate run twice sample=true seed=2
head -n 7 .out | cmp -s - one && fail "another seed gave the same samples"
expect 0 "$FERRY" translate run seven greedy=true max_repeats=0
cp .out want
expect 0 "$FERRY" translate run seven sample=true temperature=0 max_repeats=0
cmp .out want || fail "temperature 0 is not greedy search"
expect 0 "$FERRY" translate run seven sample=true top_k=1 max_repeats=0
cmp .out want || fail "the likeliest token alone is not greedy search"
expect 0 "$FERRY" translate run given.tsv sample=true prefix=true top_p=0.9 temperature=0.8
[ "$(grep -c '^die Fä' .out)" -eq 7 ] || fail "a sample does not begin as it must"
refuses 2 'sample and greedy' "$FERRY" translate run seven sample=true greedy=true
refuses 2 'top_k is for samples' "$FERRY" translate run seven top_k=5
refuses 2 'seed is for samples' "$FERRY" translate run seven seed=5
refuses 2 'temperature is for samples' "$FERRY" translate run seven temperature=0.5
refuses 2 'top_p = 0' "$FERRY" translate run seven sample=true top_p=0
refuses 2 'temperature = -1' "$FERRY" translate run seven sample=true temperature=-1

# Forbidden phrases, as whole words; and what is no list of them.
expect 0 "$FERRY" translate run seven
tr ' ' '\n' <.out | grep -v '^$' | sort -u | head -n 3 >forbid
expect 0 "$FERRY" translate run seven forbid=forbid
while read -r word; do
    tr ' ' '\n' <.out | grep -qxF -- "$word" && fail "the forbidden $word was said"
done <forbid
cp .out want
expect 0 "$FERRY" translate run seven forbid=forbid threads=2 workers=2 batch_tokens=40
cmp .out want || fail "workers changed what is not forbidden"
expect 0 "$FERRY" translate run seven forbid=forbid sample=true nbest=2
expect 0 "$FERRY" translate run seven forbid=forbid greedy=true
: >empty
expect 0 "$FERRY" translate run seven forbid=empty split=false
cmp .out plain || fail "an empty list changed something"
gzip -c forbid >forbid.gz
expect 0 "$FERRY" translate run seven forbid=forbid.gz
cmp .out want || fail "a packed list gave something else"
printf 'Boote\n\nFluss\n' >forbid
refuses 4 'forbid:2: the phrase is empty' "$FERRY" translate run seven forbid=forbid
printf 'Boote\nFl\xff\n' >forbid
refuses 4 'forbid:2: the line is not valid UTF-8' "$FERRY" translate run seven forbid=forbid
python3 -c 'print("ab " * 100)' >forbid
refuses 4 'forbid:1: the phrase has 299 letters; at most 256 are taken' "$FERRY" translate run seven forbid=forbid
refuses 3 'nowhere/list: No such file' "$FERRY" translate no-run seven forbid=nowhere/list
cp run/model.ckpt-4.index forbid
refuses 4 'forbid' "$FERRY" translate run seven forbid=forbid

# Required phrases: where the source has the term, with a beam, whatever the workers; and what is no glossary.
printf 'ferry\tden Fluss\nboats\tBoote warten\nno such term\tdie\n' >terms.tsv
expect 0 "$FERRY" translate run seven require=terms.tsv
[ "$(grep -c 'den Fluss' .out)" -eq 7 ] || fail "a required phrase is missing"
[ "$(grep -c 'Boote warten' .out)" -eq 7 ] || fail "a required phrase is missing"
cp .out want
expect 0 "$FERRY" translate run seven require=terms.tsv threads=2 workers=2 batch_tokens=40
cmp .out want || fail "workers changed what is required"
xz -c terms.tsv >terms.xz
expect 0 "$FERRY" translate run seven require=terms.xz nbest=2
[ "$(grep -c 'den Fluss' .out)" -eq 14 ] || fail "the second best lacks a required phrase"
printf 'absent\tdie\n' >absent.tsv
expect 0 "$FERRY" translate run seven require=absent.tsv split=false
cmp .out plain || fail "terms that do not occur changed something"
for i in $(seq 10 49); do
    printf '%s\t%s\n' "$i" "$((i + 1))"
done >many.tsv
cut -f 1 many.tsv | tr '\n' ' ' >all
expect 0 "$FERRY" translate run all require=many.tsv
err_has '1 of 1 lines have a sentence whose translation lacks a required phrase'
printf 'ferry\tdie\nriver\n' >terms.tsv
refuses 4 'terms.tsv:2: want a term of the source, one tab' "$FERRY" translate run seven require=terms.tsv
printf 'ferry\tdie\nferry\tden\n' >terms.tsv
refuses 4 'terms.tsv:2: the term has another phrase in line 1' "$FERRY" translate run seven require=terms.tsv
refuses 2 'require needs a beam' "$FERRY" translate run seven require=terms.tsv greedy=true
refuses 2 'require needs a beam' "$FERRY" translate run seven require=terms.tsv sample=true
refuses 3 'nowhere/list: No such file' "$FERRY" translate no-run seven require=nowhere/list

# Alternatives: they begin as given, no two go on with the same word, and they are whole translations.
sed 's/$/\tdie /' seven >given.tsv
expect 0 "$FERRY" translate run given.tsv prefix=true alternatives=3
[ "$(wc -l <.out)" -eq 21 ] || fail "three alternatives of seven lines are 21"
[ "$(grep -c '||| die ' .out)" -eq 21 ] || fail "an alternative does not begin as it must"
cp .out want
[ "$(awk '{print $1, $4}' .out | grep -oP '^\d+ (\w+|.)?' | sort -u | wc -l)" -eq 21 ] || fail "two alternatives go on alike"
expect 0 "$FERRY" translate run given.tsv prefix=true alternatives=3 threads=2 workers=2 batch_tokens=40 window=2
cmp .out want || fail "workers or windows changed the alternatives"
expect 0 "$FERRY" translate run given.tsv prefix=true alternatives=2 greedy=true
[ "$(wc -l <.out)" -eq 14 ] || fail "a greedy search finds alternatives too"
refuses 2 'give prefix=true too' "$FERRY" translate run given.tsv alternatives=3
refuses 2 'alternatives and nbest are at odds' "$FERRY" translate run given.tsv prefix=true alternatives=3 nbest=2
