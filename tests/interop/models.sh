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
