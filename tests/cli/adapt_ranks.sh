# An adaptation that was stopped is trained on by two ranks, as a run like any other, and then brought to its end.
. "$ROOT/tests/cli/two_ranks.bash"
. "$ROOT/tests/cli/tiny.bash"

tiny_data data
expect 0 "$FERRY" train data=data run=base "${tiny[@]}" max_steps=60
tiny_text more 1000 300
adapt=("$FERRY" adapt base source=more.en target=more.de mix_source=train.en mix_target=train.de threads=1 run=run)
"${adapt[@]}" 2>first &
pid=$!
for i in $(seq 600); do
    grep -qs '"step":60\b' run/run.jsonl && break
    sleep 0.05
done
kill -INT $pid
wait $pid || fail "status $? after a signal"
grep -q 'the same command continues from there' first || fail 'it was over before it was stopped'

expect 0 "${launch[@]}" "$FERRY" train run=run threads=1
steps=$(sed -n 's/.*"max_steps": \([0-9]*\).*/\1/p' run/adapt.json)
[ -e "run/model.ckpt-$steps.index" ] || fail "two ranks did not come to step $steps"
expect 0 "${adapt[@]}"
out_has 'general'
grep -q '"is_done": true' run/adapt.json || fail 'the adaptation was not brought to its end'
[ -e run/adapted.ferry ] || fail 'there is no packed model'
# Every pair of the mix was seen once by somebody: the ranks count them.
python3 - <<'PY' || fail 'ranks did not share the updates'
import json
steps = [e for e in map(json.loads, open("run/run.jsonl")) if e["event"] == "step"]
data = json.load(open("run/data/prepare.json"))
seen, all_pairs = sum(e["sentences"] for e in steps), data["sets"]["train"]["pairs"]
exit(not 0.9 * all_pairs < seen <= all_pairs)
PY
