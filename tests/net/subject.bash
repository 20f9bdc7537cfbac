# What the tests of faults train: a model large enough for gradients to outweigh headers on the
# wire, four ranks on two hosts. Sourced by the scripts of tests/net.
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
subject=("${tiny[@]}" d_model=128 d_ff=256 heads=4 encoder_layers=2 decoder_layers=2
    learning_rate=0.05 data="$WORK/data" save_every=20 log_every=1 keep_last=3)
# A starved machine may lose a job that nobody broke: then there are starts to spare.
hosts=(-H n1:2,n2:2 bind=false restarts=30)

# train RUN STEPS [key=value...]: in the background; `command` is what was launched
train()
{
    local run=$1 steps=$2
    shift 2
    command=("${hosts[@]}" -- train run="$run" "${subject[@]}" max_steps="$steps" "$@")
    background "${command[@]}"
}
# The step of the newest published checkpoint of a run; 0 before the first.
published() { sed -n 's/^model_checkpoint_path: "model.ckpt-\([0-9]*\)"$/\1/p' "$1/checkpoint" 2>/dev/null | grep . || echo 0; }
is_beyond() { [ "$(published "$1")" -gt "$2" ]; }
starts() { grep -c 'ferry launch: start' launch.log || true; }
reports() { grep -c 'ranks report' launch.log || true; }
has_reported() { [ "$(reports)" -ge "$1" ]; }
# same_end RUN RUN STEP: their last checkpoints have the same bytes
same_end()
{
    local part
    for part in data-00000-of-00001 index; do
        cmp "$1/model.ckpt-$3.$part" "$2/model.ckpt-$3.$part" || return 1
    done
}
