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

# Texts, histograms and options, of a run that goes back to an older checkpoint: every step is there once.
board=(data=data run=board d_model=32 d_ff=64 heads=2 encoder_layers=2 decoder_layers=2 log_every=1 summary_every=1
    log_gradients=3 eval_every=6 save_every=3 eval_bleu_pairs=8 eval_beam=1 eval_samples=4)
expect 0 "$FERRY" train "${board[@]}" max_steps=12
echo 'model_checkpoint_path: "model.ckpt-3"' >board/checkpoint
expect 0 "$FERRY" train "${board[@]}" max_steps=9
expect 0 "$PYTHON" "$ROOT/tests/interop/tensorboard_plugins.py" board 9
out_has 'tags have each step once'
out_has "layers' norms add up at 3 steps"
out_has 'samples of 2 evaluations are on the page'
out_has 'options are in the table of runs'
