# What a step moves through a card, by the card's own counters: four ranks on two hosts train
# the demo, and base at V = 32,768, with the default wire. Run it with
#
#   tests/net/run bench/net/bytes.bash build/release/ferry
hosts=(-H n1:2,n2:2 bind=false restarts=0)
expect 0 "$FERRY" sample text
expect 0 "$FERRY" prepare source=text/train.en target=text/train.de out=data vocab_size=2000

# bytes CONFIG STEPS [key=value...]: sent and received by n1
counters() { lab counters | awk '$1 == "n1" { print $3, $2 }'; }
bytes()
{
    local config=$1 steps=$2 before after
    shift 2
    rm -rf run
    before=$(counters)
    background "${hosts[@]}" -- train "$ROOT/configs/$config.yaml" data="$WORK/data" run="$WORK/run" \
        max_steps="$steps" threads=1 eval_every=0 save_every=0 eval_bleu=false log_every=1 "$@"
    await
    [ "$code" -eq 0 ] || { cat launch.log; fail "status $code"; }
    after=$(counters)
    echo "$before $after" | awk '{ print $3 - $1, $4 - $2 }'
}

# compare CONFIG FEW MANY [key=value...]: what a start costs is in both runs and falls out
compare()
{
    local config=$1 few=$2 many=$3 short long parameters
    shift 3
    short=$(bytes "$config" "$few" "$@")
    long=$(bytes "$config" "$many" "$@")
    parameters=$(sed -n 's/.*"parameters":\([0-9]*\).*/\1/p' run/run.jsonl | head -n 1)
    echo "$short $long" | awk -v name="$config" -v n=$((many - few)) -v stated=$((2 * parameters)) '{
        ring = 3 * stated # 2 (R - 1) / R of four bytes, four ranks
        sent = ($3 - $1) / n; received = ($4 - $2) / n
        printf "%s: a step sends %.2f MB and receives %.2f, stated %.2f (%.3f and %.3f times); a flat fp32 ring %.2f\n",
            name, sent / 1e6, received / 1e6, stated / 1e6, sent / stated, received / stated, ring / 1e6
        exit !(sent < 1.05 * stated && sent > 0.95 * stated && received < 1.05 * stated && received > 0.95 * stated) }' ||
        fail "the card's counter differs"
}
compare demo 10 110
compare base 2 6 vocab_size=32768 batch_tokens=400 batch_sentences=0
