# ctest: slow
# Models that transformers, Marian and CTranslate2 make are read; Ferry translates and scores with
# them as these programs do: on the demo's corpus, or on Multi30k when FERRY_DATA names the folder
# that holds it. STEPS=100 trains for less long.
for peer in torch transformers sentencepiece sacrebleu; do
    "$PYTHON" -c "import $peer" 2>/dev/null || skip "$peer is not installed"
done
peer=$ROOT/tests/interop/models.py

mkdir text
if [ -n "${FERRY_DATA:-}" ]; then
    for side in en de; do
        zcat "$FERRY_DATA/multi30k/train.$side.gz" >text/train.$side
        zcat "$FERRY_DATA/multi30k/test_2016_flickr.$side.gz" | head -n 500 >text/test.$side
    done
else
    expect 0 "$FERRY" sample corpus pairs=20000 valid=20 test=500
    for side in en de; do
        mv corpus/train.$side corpus/test.$side text
    done
fi
expect 0 "$PYTHON" "$peer" "$FERRY" text text

compare()
{
    expect 0 "$PYTHON" "$peer" "$FERRY" "$@" text
    cat .out
}
for name in swish gelu relu apart; do compare hf $name; done
if "$PYTHON" -c 'import ctranslate2' 2>/dev/null; then
    for name in hf hf-half hf-int16 hf-int8; do compare ct2 $name; done
fi
"$PYTHON" -c 'import pymarian' 2>/dev/null || skip "pymarian is not installed: models of Marian"
for name in post pre gelu opus; do compare marian $name; done

# One that Marian has trained goes on learning here, and back there.
expect 0 "$FERRY" import text/marian-post out=post.ferry precision=fp32 source_lang=en target_lang=de
expect 0 "$FERRY" prepare source=text/train.en target=text/train.de valid=200 out=data tokenizer=post.ferry measure=false
rm -f data/proposal.yaml
tune=(data=data run=tuned init_from=post.ferry max_steps=200 warmup_steps=20 learning_rate=0.02 batch_tokens=1500
    eval_every=100 eval_bleu=false log_every=10)
refuses 2 'train it with' "$FERRY" train "${tune[@]}"
read -ra fits < <(sed -n 's/.*train it with //p' .err)
expect 0 "$FERRY" train "${tune[@]}" "${fits[@]}"
losses() { sed -n 's/.*"event":"step".*"loss":\([0-9.]*\).*/\1/p' tuned/run.jsonl; }
awk -v a="$(losses | head -n 1)" -v b="$(losses | tail -n 1)" 'BEGIN { exit !(b < a) }' || fail "the loss does not fall"
expect 0 "$FERRY" export tuned to=marian out=text/marian-back checkpoint=last average=false
compare back marian-back
if "$PYTHON" -c 'import ctranslate2' 2>/dev/null; then
    for name in marian marian-int8; do compare ct2 $name; done
fi

# the archive of OPUS-MT's layout, the pickle and the file as it lies are the same models
(cd text/marian-opus && "$PYTHON" -c 'import shutil; shutil.make_archive("../opus", "zip")')
head -n 20 text/test.en >some
for model in text/marian-opus text/opus.zip text/marian-opus/model.npz; do
    expect 0 "$FERRY" translate $model some
    cp .out "said.$(basename $model)"
done
cmp said.marian-opus said.opus.zip
cmp said.marian-opus said.model.npz
expect 0 "$FERRY" import text/opus.zip out=opus.ferry precision=fp32
expect 0 "$FERRY" translate opus.ferry some
cmp .out said.marian-opus
