# TensorBoard reads every tag and value of a run, and they are those of run.jsonl.
"$PYTHON" -c 'import tensorboard' 2>/dev/null || skip "tensorboard is not installed"
. "$ROOT/tests/interop/small_run.bash"

"$PYTHON" - >want.tsv <<'PY'
import json

for line in open("run/run.jsonl"):
    e = json.loads(line)
    values = {}
    if e["event"] == "step":
        values = {"train_loss": e["loss"], "learning_rate": e["rate"],
                  "Loss_Optimization/global_gradient_norm": e["grad_norm"],
                  "global_step/sec": e["steps"] / e["t_step"]}
    elif e["event"] == "eval":
        values = {"eval_loss": e["eval_loss"], "Eval_BLEU_Score": e["forced_bleu"],
                  "valid_loss": e["valid_loss"]}
    for tag, value in values.items():
        print(e["step"], tag, repr(value), sep="\t")
PY
[ "$(wc -l <want.tsv)" -eq 30 ] || fail "run.jsonl should hold 6 steps and 2 evaluations"
expect 0 "$PYTHON" "$ROOT/tests/interop/tensorboard_events.py" run --equal want.tsv
out_has "curves are whole"
out_has "values equal"
