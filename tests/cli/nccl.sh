# ctest: slow
# Several ranks with a card each, whose gradients NCCL sums: whole trainings on stand-ins
# of NVIDIA's libraries (tests/standin) make the losses of one rank on the CPU, whichever
# stream runs early; without a wait they do not.
. "$ROOT/tests/cli/tiny.bash"
. "$ROOT/tests/cli/mpirun.bash"
standin=$(dirname "$FERRY")/standin
if [ ! -e "$standin/libnccl.so.2" ]; then
    skip "no stand-ins for NVIDIA's libraries in $standin"
fi
export LD_LIBRARY_PATH=$standin FERRY_CUDA_IMAGE=$standin FERRY_STANDIN_CARDS=2

tiny_data data
# small buckets: several of them leave while backward still runs
options=("${tiny[@]}" data=data log_every=1 learning_rate=0.5 bucket_mib=0.004 batch_tokens=40)

# ranks LAYOUT OPTION...: train on pretended nodes of that many ranks each ("2,1"); FAULT is
# put into the environment of the last one
ranks()
{
    local layout=$1 i nodes words=()
    shift
    IFS=, read -r -a nodes <<<"$layout"
    for i in "${!nodes[@]}"; do
        [ "$i" -eq 0 ] || words+=(:)
        words+=(-n "${nodes[i]}" env "FERRY_NODE=n$i")
        [ "$i" -ne $((${#nodes[@]} - 1)) ] || words+=(${FAULT:-})
        words+=("$FERRY" train "${options[@]}" "$@")
    done
    "${mpirun[@]}" "${words[@]}"
}
losses() { sed -n 's/.*"event":"step".*"loss":\([0-9.e+-]*\),.*/\1/p' "$1/run.jsonl"; }
# agree RUN RUN LIMIT: as many losses, none of them further apart
agree()
{
    paste -d ' ' <(losses "$1") <(losses "$2") | awk -v limit="$3" '
        { d = $1 / $2 - 1; if (d < 0) d = -d; if (!(d <= limit)) exit 1 }
        END { if (NR < 4) exit 1 }'
}

expect 0 "$FERRY" train run=one device=cpu "${options[@]}" max_steps=4

# one node: all orders of the three streams (1 computes, 2 copies, 3 is NCCL's)
for eager in "" 1 2 3; do
    FERRY_STANDIN_EAGER=$eager expect 0 ranks 2 run="two$eager" device=cuda max_steps=4
    err_lacks 'through the host'
    agree one "two$eager" 1e-4 || fail "eager '$eager': the losses of one rank are others"
    cmp two{,"$eager"}/model.ckpt-4.data-00000-of-00001 || fail "eager '$eager': other weights"
done
grep -q '"gradients":"NCCL 2.28.9"' two/run.jsonl || fail "the log does not name NCCL"
FERRY_STANDIN_DEAF=3 FERRY_STANDIN_EAGER=3 expect 6 ranks 2 run=deaf device=cuda max_steps=4
err_has 'and it cannot be told whose are wrong'
FERRY_STANDIN_DEAF=3 FERRY_STANDIN_EAGER=3 expect 0 ranks 2 run=deaf2 device=cuda max_steps=4 \
    replica_check_every=0
! agree one deaf2 1e-4 || fail "NCCL did not wait for backward, and nobody saw it"

# resuming is exact, replicas are equal
expect 0 ranks 2 run=parts device=cuda max_steps=2 replica_check_every=1
expect 0 ranks 2 run=parts device=cuda max_steps=4 replica_check_every=1
cmp {two,parts}/model.ckpt-4.data-00000-of-00001 || fail "resume is not exact"

# the cards' own sensors are in the report
expect 0 "$FERRY" report two
grep -q '123 W per card, 49.4.% of the limit' two/report.md || fail "the report lacks the power"
FERRY_STANDIN_NVML=waiting expect 0 ranks 2 run=waiting device=cuda max_steps=4
expect 0 "$FERRY" report waiting
grep -q 'they wait more than they compute' waiting/report.md || fail "nobody saw that cards wait"

# several nodes: a shard for each card, the wire's type between nodes; unlike nodes
for layout in 1,1 2,2 2,1; do
    expect 0 ranks "$layout" run="fp32-$layout" device=cuda wire=fp32 max_steps=4 \
        replica_check_every=1
    agree one "fp32-$layout" 1e-4 || fail "nodes of $layout: other losses"
    expect 0 ranks "$layout" run="bf16-$layout" device=cuda wire=bf16 max_steps=4 \
        replica_check_every=1
    agree one "bf16-$layout" 3e-3 || fail "nodes of $layout, bf16: other losses"
    ! cmp -s {fp32,bf16}-"$layout"/model.ckpt-4.data-00000-of-00001 ||
        fail "nodes of $layout: wire = bf16 changes nothing"
done
for device in cpu cuda; do
    expect 0 ranks 2,1 run="local-$device" device=$device wire=fp32 local_steps=2 max_steps=8 \
        log_every=2
done
agree local-cpu local-cuda 1e-4 || fail "nodes that train alone: other losses"

# what NCCL cannot do goes through the host, and says so
FERRY_NCCL=0 expect 0 ranks 2 run=host device=cuda max_steps=4
err_has 'FERRY_NCCL=0 says so'
agree one host 1e-4 || fail "through the host: other losses"
expect 0 ranks 1,1 run=int8 device=cuda wire=int8 max_steps=4
err_has 'wire = int8 is ours alone'
FERRY_STANDIN_CARDS=1 expect 0 ranks 2 run=crowded device=cuda max_steps=4
err_has 'ncclCommInitRank of NCCL 2.28.9: invalid usage'
agree one crowded 1e-4 || fail "two ranks on one card: other losses"

# a card is examined, alone and with another
expect 0 "$FERRY" doctor --device cuda
out_has 'nccl    NCCL 2.28.9'
out_has 'ok    1 rank by NCCL 2.28.9'
expect 0 "${mpirun[@]}" -n 2 "$FERRY" doctor --device cuda
out_has 'ok    2 ranks by NCCL 2.28.9'

# a network that breaks ends the run everywhere, with a sentence that names a host
FAULT=FERRY_STANDIN_NCCL_FAIL=30
last='a broken network'
got=0
ranks 1,1 run=broken device=cuda max_steps=50 >.out 2>.err || got=$?
[ "$got" -ne 0 ] || fail "a broken network ended well"
err_has "on host $(hostname)"
grep -q 'the sum of gradients (bucket [0-9]*) on rank [01] on host .* failed:' .err ||
    fail "the failure of NCCL is not told"
