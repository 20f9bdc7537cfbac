# Text in, data directory out; every mistake is one sentence with its exit status.
for i in $(seq 1 200); do
    echo "the ferry $i crosses the river and the $((i * 7 % 13)) other boats wait" >>en
    echo "die Fähre $i überquert den Fluss und die $((i * 7 % 13)) anderen Boote warten" >>de
done
head -n 20 en >valid.en
head -n 20 de >valid.de

expect 0 "$FERRY" prepare source=en target=de valid_source=valid.en valid_target=valid.de \
    out=data vocab_size=100
out_has '200  pairs read'
out_has '20  valid pairs'
out_has '100  pieces in the vocabulary'
for f in train.bin valid.bin valid.source valid.target vocab.model vocab.vocab prepare.json; do
    [ -s "data/$f" ] || fail "data/$f is missing"
done
cmp valid.en data/valid.source || fail "the validation text was changed"

# a proposal is in the directory, and a command to use it is the last line
[ -s data/proposal.yaml ] || fail "there is no proposal"
out_has 'training takes about'
out_has 'next: ferry train data=data run=RUN'
expect 0 "$FERRY" train data=data run=proposed max_steps=2 threads=1
err_has 'configuration: data/proposal.yaml'
for key in d_model patience moving_average warmup_steps batch_tokens; do
    [ "$(grep "^$key:" data/proposal.yaml)" = "$(grep "^$key:" proposed/config.yaml)" ] ||
        fail "$key of the run is not the one that was proposed"
done
grep -q '^source_lang: "en"$' proposed/config.yaml || fail "the run does not know its language"
expect 0 "$FERRY" inspect proposed
out_has 'source language     en'
expect 0 "$FERRY" average proposed out=mean last=1
grep -q '^target_lang: "de"$' mean/config.yaml || fail "an average does not know its language"
grep -q '^max_steps: 2$' proposed/config.yaml || fail "the command line does not go before it"
expect 0 "$FERRY" train run=proposed max_steps=3
err_lacks 'proposal.yaml'
mv data/proposal.yaml .
refuses 2 'd_model' "$FERRY" train data=data run=plain max_steps=1 d_model=16 heads=3 threads=1
expect 0 "$FERRY" train data=data run=plain max_steps=1 d_model=16 heads=2 threads=1
[ "$(grep -cx 'no proposal.yaml in data: the default options are taken' .err)" -eq 1 ] ||
    fail "the defaults are taken silently"
grep -q '^encoder_layers: 6$' plain/config.yaml || fail "without a proposal the defaults do not hold"
expect 0 "$FERRY" train run=plain max_steps=2 # goes on, by its own configuration
err_lacks 'proposal.yaml'
expect 0 "$FERRY" train plain/config.yaml run=named max_steps=1
err_lacks 'proposal.yaml'

# whoever prepares again has a proposal again
expect 0 "$FERRY" prepare source=en target=de valid_source=valid.en valid_target=valid.de \
    out=data vocab_size=100 measure=false
cmp <(grep -v '^#' proposal.yaml) <(grep -v '^#' data/proposal.yaml) || fail "the proposal is not there again"

# a finished directory, on which runs may depend, is replaced only when asked
cp data/train.bin was.bin
refuses 2 'out = data is a data directory that was not made of these files' \
    "$FERRY" prepare source=en target=de out=data vocab_size=90 measure=false
cmp data/train.bin was.bin && [ -s data/valid.bin ] || fail "a refused preparation changed the data"
[ ! -e data/prepare.work ] || fail "a refused preparation left its work"
cp -r data other
expect 0 "$FERRY" prepare source=en target=de out=other vocab_size=90 measure=false --fresh
! cmp -s other/train.bin was.bin && [ ! -e other/valid.bin ] || fail "--fresh did not replace the data"

# held-out sets drawn from the text; the languages of both sides
expect 0 "$FERRY" prepare source=en target=de valid=10 test=20 out=drawn
err_has 'leaving out 200 pairs'
out_has '10  valid pairs'
out_has '20  test pairs'
out_has '30  dropped (15.00 %): the pair was drawn for the validation or test set'
out_has 'source language en ('
out_has 'target language de ('
out_lacks 'warning'
[ -z "$(sort drawn/test.source drawn/valid.source | uniq -d)" ] || fail "a line is in both sets"
[ "$(cat drawn/test.source drawn/valid.source | grep -Fxc -f en)" = 30 ] || fail "drawn lines are not of the text"
refuses 2 'valid = 9 draws a set from the training text, and valid_source names one' \
    "$FERRY" prepare source=en target=de valid=9 valid_source=en valid_target=de out=x
expect 2 "$FERRY" prepare source=en target=de test=67 out=none
err_has 'test = 67 is more than a third of the 200 pairs'
expect 2 "$FERRY" prepare source=en target=de valid_source=valid.de valid_target=valid.en out=none
err_has 'the sides of the validation set are swapped: the source in valid.de'
err_lacks 'cleaning'
[ ! -e none ] || fail "a refused command left its work"
expect 0 "$FERRY" prepare source=en target=en out=twins measure=false --check-sides false
out_has 'warning: both sides are en'
expect 0 "$FERRY" prepare source=en target=de out=lonely measure=false
out_has 'warning: there is no validation set'
out_lacks 'training takes about'

# a held-out set takes many training pairs with it, or all
for i in $(seq 1 30); do
    echo "question $i" >>question.en
    echo 'yes' >>answer.de
done
echo 'is it so' >one.en
echo 'yes' >one.de
expect 0 "$FERRY" prepare source=en,question.en target=de,answer.de valid_source=one.en valid_target=one.de \
    held_out=side out=shared measure=false
out_has 'warning: 30 of 230 training pairs (13 %) were dropped because they share a sentence'
expect 4 "$FERRY" prepare source=question.en target=answer.de valid=1 out=nothing
err_has 'no pairs are left of 30 without those of the held-out sets: 29 because'

expect 0 "$FERRY" prepare --source en --target de --out again --vocab-size 100 \
    --valid-source=valid.en --valid-target=valid.de
cmp data/train.bin again/train.bin || fail "the same options gave other bytes"
cmp data/vocab.model again/vocab.model || fail "the same options gave another vocabulary"

# profiles of languages that have a name
expect 0 "$FERRY" prepare source=en target=de out=named source_lang=en target_lang=de vocab_size=100 \
    measure=false
[ "$(head -c 8 named/profiles)" = FERRYPRF ] || fail "there are no profiles of the languages"
[ "$(wc -c <named/profiles)" -eq $((16 + 2 * 32784)) ] || fail "there are not two profiles"

head -n 199 de >short.de
: >empty
refuses 2 'source is missing' "$FERRY" prepare
refuses 2 'out is missing' "$FERRY" prepare source=en target=de
refuses 2 "did you mean 'vocab_size'" "$FERRY" prepare source=en target=de out=x vocab_sice=9
refuses 4 'en has 200 lines and short.de has 199' "$FERRY" prepare source=en target=short.de out=x
refuses 3 'none.de: No such file' "$FERRY" prepare source=en target=none.de out=x
refuses 4 'empty: the file is empty' "$FERRY" prepare source=empty target=de out=x
[ ! -e x ] || fail "a refused command made its directory"
expect 2 "$FERRY" prepare source=en target=de out=x vocab_size=30000
err_has 'vocab_size = 30000: the text gives only'
[ ! -e x ] || fail "a refused command left its work"
expect 3 "$FERRY" prepare source=en target=de out=en/x vocab_size=100
err_has 'en'

# what has no end, or is no text, is refused at once
refuses 4 '/dev/zero is not text' "$FERRY" prepare source=@/dev/zero target=de out=y
refuses 3 '/dev/zero: not a regular file' "$FERRY" prepare source=/dev/zero target=de out=y
refuses 4 'a list has a file name on each line' "$FERRY" prepare source=@<(yes || true) target=de out=y
refuses 4 'line 1: a list has a file name on each line, of at most 1023 bytes' \
    "$FERRY" prepare source=@<(printf %02000d 0) target=de out=y
printf 'PK\3\4%026d[Content_Types].xml' 0 >text.docx
refuses 4 'text.docx is an Office document, and text is wanted' \
    "$FERRY" prepare source=text.docx target=de out=y
[ ! -e y ] || fail "a refused command made its directory"

# memory: more than there is is a limit and no wish; too little is said
expect 0 "$FERRY" prepare source=en target=de out=y vocab_size=100 memory_mib=10000000 measure=false
cmp y/train.bin again/train.bin || fail "more memory gives another corpus"
if ! "$FERRY" version | grep -q sanitizer; then
    expect 5 limited 200000 "$FERRY" prepare source=en target=de out=z vocab_size=100
    err_has 'SentencePiece could not start its threads'
    err_has 'too little memory'
fi
rm -rf y

# a bit that flips later is found by inspect, and by training beside its first steps
. "$ROOT/tests/cli/tiny.bash"
expect 0 "$FERRY" inspect data --verify
out_has 'all right'
byte=$(od -An -tu1 -j 40 -N 1 data/train.bin)
printf "\\x$(printf %x $((byte ^ 1)))" | dd of=data/train.bin bs=1 seek=40 conv=notrunc status=none
refuses 4 'its checksum does not match' "$FERRY" inspect data/train.bin
refuses 4 'its checksum does not match' "$FERRY" inspect data --verify
expect 4 "$FERRY" train run=run data=data "${tiny[@]}" max_steps=3
err_has 'train.bin: the packed corpus is damaged'
expect 0 "$FERRY" train run=run2 data=data "${tiny[@]}" max_steps=3 verify_data=false

# text of every kind, by name
paste en de >both.tsv
gzip -c both.tsv >both.tsv.gz
! command -v xz >/dev/null || xz -k both.tsv
! command -v zstd >/dev/null || zstd -q both.tsv
for f in both.tsv*; do
    expect 0 "$FERRY" prepare pairs=$f out=from-$f vocab_size=100
    cmp from-$f/train.bin again/train.bin || fail "$f gives another corpus"
done
cp both.tsv both.txt
expect 0 "$FERRY" prepare pairs=both.txt out=from-txt vocab_size=100 measure=false
cmp from-txt/train.bin again/train.bin || fail "a TSV called .txt gives another corpus"
tr '\t' ';' <both.tsv >both.csv
refuses 4 'both.csv:1: a line of 1 column, column 2 is wanted: columns are separated by tabs, and it has none but 1 semicolon' \
    "$FERRY" prepare pairs=both.csv out=y
refuses 4 'are named with source= and target=' "$FERRY" prepare pairs=en out=y
head -c 300 both.tsv.gz >cut.tsv.gz
refuses 4 'cut.tsv.gz: the gzip data ends too early: the file was cut' \
    "$FERRY" prepare pairs=cut.tsv.gz out=y
sed 5d de >part.de
refuses 4 'they seem to diverge at line' "$FERRY" prepare source=en target=part.de out=y
[ ! -e y ] || fail "a refused command made its directory"
expect 0 "$FERRY" prepare source=<(cat en) target=de out=piped vocab_size=100
cmp piped/train.bin again/train.bin || fail "a pipe gives another corpus"

# a list of files from a pipe
expect 0 bash -c '"$FERRY" prepare pairs=@<(echo both.tsv) out=from-list vocab_size=100'
cmp from-list/train.bin again/train.bin || fail "a list from a pipe gives another corpus"
command -v xz >/dev/null && command -v zstd >/dev/null ||
    skip ".xz and .zst were not read: xz or zstd is missing"
