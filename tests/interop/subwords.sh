# The Python sentencepiece learns the same vocabulary and gives the same ids, by our .model and by
# its own: on the embedded sample, on 100,000 hostile lines (LINES=), and on all of Multi30k and
# Tatoeba when FERRY_DATA names the folder that holds them. BPE-dropout cuts words in the same ways,
# each as often as sentencepiece's sampling; so do the pieces drawn from a unigram model.
"$PYTHON" -c 'import sentencepiece' 2>/dev/null || skip "sentencepiece is not installed"
peer=$ROOT/tests/interop/subwords.py
both() { paste -d '\n' "$1" "$2" >"$3"; }

expect 0 "$FERRY" sample corpus pairs=4000 valid=20 test=20
both corpus/train.en corpus/train.de sample.txt
expect 0 "$PYTHON" "$peer" "$FERRY" text sample.txt --vocab-size 4000
expect 0 "$PYTHON" "$peer" "$FERRY" hostile "${LINES:-100000}" --seed "${SEED:-1}"

prepare() {
    expect 0 "$FERRY" prepare source=corpus/train.en target=corpus/train.de valid_source=corpus/valid.en \
        valid_target=corpus/valid.de measure=false "$@"
}
prepare out=data vocab_size=1000
for rate in 0.1 0.5; do
    expect 0 "$PYTHON" "$peer" "$FERRY" dropout data --rate $rate
    cat .out
done

expect 0 "$PYTHON" "$peer" "$FERRY" unigram sample.txt --vocab-size 1000
prepare out=drawn tokenizer=unigram.model
for alpha in 0.1 0.5 1; do
    expect 0 "$PYTHON" "$peer" "$FERRY" drawn drawn --rate $alpha
    cat .out
done

data=${FERRY_DATA:-}
[ -n "$data" ] || skip "Multi30k and Tatoeba: FERRY_DATA does not name their folder"
for set in train val test_2016_flickr; do
    zcat "$data/multi30k/$set.en.gz" >>m.en
    zcat "$data/multi30k/$set.de.gz" >>m.de
done
both m.en m.de multi30k.txt
zcat "$data"/tatoeba/*.tsv.gz | tr '\t' '\n' >tatoeba.txt
for text in multi30k.txt tatoeba.txt; do
    expect 0 "$PYTHON" "$peer" "$FERRY" text $text
    cat .out
done
