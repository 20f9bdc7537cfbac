# ctest: slow
# The commands of docs/tutorial.md, as they stand there, on the sample corpus; and on Tatoeba
# where it lies beside the source. Only the training is cut short, by options that are added.
mkdir bin && ln -s "$FERRY" bin/ferry
PATH=$WORK/bin:$PATH

# What stands between ```sh and ``` on the page.
awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$ROOT/docs/tutorial.md" >commands
for command in prepare train eval translate report; do
    grep -q "^ *\(coproc T { \)\?ferry $command " commands || fail "the page has no ferry $command"
done
[ "$(grep -c '^ferry ' commands)" -eq 5 ] || fail "four commands and the report, says the page"
sed -e 's/^ferry train .*/& max_steps=12 batch_tokens=500 eval_bleu_pairs=8/' \
    -e 's/^ferry eval .*/& pairs=20/' commands >short

# tutorial DIR: in DIR, where tatoeba.tsv.gz is
tutorial()
{
    cd "$WORK/$1"
    expect 0 timeout 600 bash -eu ../short # a co-process that keeps silent would wait for ever
    cp "$WORK/.out" said
    [ "$(wc -l <some.de)" -eq 3 ] || fail "want three sentences to translate"
    expect 0 ferry translate run some.de
    [ "$(grep -c . "$WORK/.out")" -eq 3 ] || fail "a sentence was not translated"
    while read -r line; do
        grep -qxF -e "$line" said || fail "the page's own commands did not print '$line'"
    done <"$WORK/.out"
    for file in data/prepare.json data/valid.bin data/test.bin run/config.yaml run/report.html; do
        [ -s "$file" ] || fail "$1/$file is missing"
    done
    grep -q '^BLEU ' said || fail "no BLEU"
    cd "$WORK"
}

mkdir sample
expect 0 "$FERRY" sample corpus pairs=6000 valid=1 test=1
paste corpus/train.de corpus/train.en | gzip >sample/tatoeba.tsv.gz
tutorial sample

real=$ROOT/../shared/data/tatoeba/tatoeba-2018-05-13.de-en.tsv.gz
if [ -r "$real" ]; then
    mkdir tatoeba
    ln -s "$real" tatoeba/tatoeba.tsv.gz
    tutorial tatoeba
fi
