# A tiny corpus, data directory and model, for the tests that source this.

# tiny_text NAME FIRST N: lines FIRST.. of NAME.en and of NAME.de
tiny_text()
{
    local i
    local -a en=(ship river bank light stone bridge north wind)
    local -a de=(Schiff Fluss Ufer Licht Stein Brücke Norden Wind)
    for ((i = $2; i < $2 + $3; i++)); do
        echo "the ${en[i % 8]} and the ${en[i * 5 / 3 % 8]} see ${en[i / 8 % 8]} $i" >&3
        echo "${de[i % 8]} und ${de[i * 5 / 3 % 8]} sehen ${de[i / 8 % 8]} $i" >&4
    done 3>"$1.en" 4>"$1.de"
}

# tiny_data DIR [key=value...]: 120 training, 12 validation and 6 test pairs, 80 pieces. Without the
# proposal, so that a run has the options of its test and the defaults.
tiny_data()
{
    local out=$1
    shift
    [ -e train.en ] || { tiny_text train 0 120; tiny_text valid 500 12; tiny_text test 600 6; }
    expect 0 "$FERRY" prepare source=train.en target=train.de valid_source=valid.en \
        valid_target=valid.de test_source=test.en test_target=test.de out="$out" vocab_size=80 measure=false "$@"
    rm "$out/proposal.yaml"
}

# The options of a model that takes milliseconds a step; use as "${tiny[@]}".
tiny=(d_model=16 d_ff=24 heads=2 encoder_layers=1 decoder_layers=1 batch_tokens=100
    max_length=32 learning_rate=0.5 warmup_steps=8 eval_every=0 save_every=0 eval_bleu=false
    log_every=5 patience=0 threads=1 pin=false)
