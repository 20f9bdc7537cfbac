# docs/launch.md on a SLURM of the lab's own, two hosts with two processors each: srun, the page's
# own batch script through its time limit, scancel, a host that is lost, ferry launch inside an
# allocation. Whatever happens, the last checkpoint has the bytes of the undisturbed run.
# Run by `make test-slurm`; some minutes.
for tool in slurmctld slurmd munged sbatch; do
    command -v "$tool" >/dev/null || skip "there is no $tool"
done
. "$ROOT/tests/net/slurm_cluster.bash"
. "$ROOT/tests/net/subject.bash"
cluster_up
on_head sinfo

steps=1500
PATH=$(dirname "$FERRY"):$PATH
training="${subject[*]} max_steps=$steps"
say() { echo "== $*"; }

# page_script RUN MINUTES SECONDS: the batch script of the page, for our data and a short limit
page_script()
{
    sed -n '/^    #!\/bin\/bash$/,/^    exit \$code$/s/^    //p' "$ROOT/docs/launch.md" | sed -n '1,/^exit/p' |
        sed -e "s|configs/base.yaml data=/data/wmt run=/data/run|$training run=$WORK/$1|" \
            -e "s/24:00:00/$2/" -e "s/USR1@120/USR1@$3/" >"$1.sbatch"
    grep -q "run=$WORK/$1" "$1.sbatch" || fail "the page's script is not what this test knows"
}
submit() { job=$(on_head sbatch --parsable --output="$WORK/$1.out" "$1.sbatch"); }
state() { on_head scontrol --oneliner show job "$job" | grep -o "$1=[^ ]*" | cut -d = -f 2; }
is_in() { [ "$(state JobState)" = "$1" ]; }
restarts() { state Restarts; }
ends() # RUN: the job completes, with the bytes of the undisturbed run
{
    until_true 600 is_in COMPLETED
    same_end "$1" whole "$steps" || fail "the bytes of $1 differ"
    say "$1: job $job, $(restarts) requeues, $(grep -c '"event":"start"' "$1/run.jsonl") starts, the same bytes"
}

say "srun, undisturbed"
on_head srun --mpi=pmix -N 2 --ntasks-per-node=2 ferry train $training run="$WORK/whole" >whole.out 2>&1 ||
    { tail -n 20 whole.out; fail "srun ended with status $?"; }
grep -E '^training|^finished' whole.out

say "sbatch, beyond its time limit"
page_script limit 1 30
submit limit
ends limit
[ "$(restarts)" -ge 1 ] || fail "the job was never put back"
grep -E '^training|^resum|^stopp|^finished' limit.out

say "scancel, and again"
page_script cancel 10 30
submit cancel
until_true 200 is_beyond cancel 100
on_head scancel "$job"
until_true 60 is_in CANCELLED
at=$(published cancel)
[ "$at" -lt "$steps" ] || fail "it was not cancelled"
submit cancel
ends cancel
grep -E '^training|^resum|^stopp|^finished' cancel.out

say "a host is lost"
page_script lost 10 30
submit lost
until_true 200 is_beyond lost 100
lab crash n2
until_true 120 grep -q 'rank . on n2 is dead' lost.out
lab boot n2
start_node n2
ends lost
[ "$(restarts)" -ge 1 ] || fail "the job was never put back"
grep -E '^training|^resum|^stopp|^finished|dead' lost.out

say "ferry launch inside an allocation"
on_head salloc -N 2 --ntasks-per-node=2 bash -c "scontrol show hostnames | sed 's/\$/ slots=2/' >hosts &&
    ferry launch hostfile=hosts agent='$ROOT/tests/net/rsh' interface=eth0 bind=false -- train $training run='$WORK/inside'" \
    >inside.out 2>&1 || { tail -n 20 inside.out; fail "status $?"; }
same_end inside whole "$steps" || fail "the bytes of ferry launch differ"
say "inside: $(grep -c 'ferry launch: start' inside.out) start, the same bytes"
