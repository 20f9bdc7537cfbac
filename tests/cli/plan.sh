# The planner from the shell: JSON for programs, a page for people, one sentence for
# mistakes.
base=$ROOT/configs/base.yaml
json()
{
    expect 0 "$FERRY" plan "$base" "$@" --json --no-tables
    cp .out plan.json
}
field() { sed -n "s/^ \"$1\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p" plan.json | head -n 1; }
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b * 0.85 && a < b * 1.15) }' ||
    fail "$1 is not within 15 % of $2"; }

# the reference's way on two machines of two cards, as measured
json --nodes 2 --per-node 2 --device V100 --network 205MB/s --batch 256 --precision mixed \
    --method reference
near "$(field seconds_per_step)" 1.685
near "$(field bytes_per_card_per_step)" 365285376
near "$(field tokens_per_s)" 37000
[ "$(field limit)" = network ] || fail "the network should be the limit"
reference=$(field seconds_per_step)
json --nodes 2 --per-node 1,2 --device V100 --network 205MB/s --batch 256 --method reference
near "$(field bytes_per_card_per_step)" 324698112
[ "$(field ranks)" = 3 ] || fail "three cards"

# ours sends a third
json --nodes 2 --per-node 2 --device V100 --network 205MB/s --batch 256 --precision mixed
near "$(field bytes_per_card_per_step)" 121761792
awk -v a="$(field seconds_per_step)" -v b="$reference" 'BEGIN { exit !(a < b / 2) }' ||
    fail "ours should take less than half"

# measured compute and link: T = compute + what cannot hide
json --nodes 2 --compute-seconds 3 --network 119MB/s --latency 50us --wire fp32 --no-overlap
near "$(field seconds_per_step)" 5.05

# the device as measured by the bench
echo '{"bench":"step","gflops":100.0}' >b.json
json --bench b.json
slow=$(field seconds_per_step)
echo '{"bench":"step","gflops":200.0}' >b.json
json --bench b.json
near "$(awk -v a="$slow" -v b="$(field seconds_per_step)" 'BEGIN { print a / b }')" 2

# a description of one's own
printf 'title: mine <b>\nfp32_tflops: 10\nmemory_gb_per_s: 500\ninside_gb_per_s: 10\n' >mine.yaml
expect 0 "$FERRY" plan "$base" --device mine.yaml --nodes 4 --html page.html --price 3
out_has 'mine <b>'
out_has 'cost '
out_has page.html
grep -q 'mine &lt;b&gt;' page.html || fail "a name should be shown as text"
! grep -q 'mine <b>' page.html || fail "a name was obeyed"
[ "$(grep -c '<svg viewBox="0 0 400' page.html)" -eq 7 ] || fail "want seven plots"
! grep -qE 'src=|https?://|nan|inf<|style=' page.html || fail "the page needs something else"
grep -q '<li><i class="c1"></i>forward and backward</li>' page.html || fail "the step has no legend"
grep -q '(same line as none)' page.html || fail "lines on each other are not explained"
[ "$(grep -c '<table class="numbers">' page.html)" -eq "$(grep -c 'class="hint"' page.html)" ] ||
    fail "a wide table lacks its hint"
for id in step ways nodes failures basis; do
    grep -q "href=\"#$id\"" page.html && grep -q "<h2 id=\"$id\"" page.html || fail "no $id"
done

mkfifo sink
cat sink >read.html &
expect 0 "$FERRY" plan "$base" --device mine.yaml --nodes 4 --html sink --price 3
wait $!
[ -p sink ] || fail "the pipe was replaced"
cmp read.html page.html || fail "another page came through the pipe"

# the verdict is the first line of the text, of the object and of the page
verdict() { expect 0 "$FERRY" plan "$base" --no-tables "$@" && first=$(head -n 1 .out); }
says() { case $first in $1) ;; *) fail "the first line is '$first', not '$1'" ;; esac; }
verdict nodes=2 per_node=2 device=V100 network=1Gb
says 'At 1 Gb/s, one machine is 1.? times as fast as two; waiting for the network is 6? % of a step.'
out_has 'No V100 16 GB was ever measured with Ferry'
verdict nodes=2 network=10Gb
says 'At 10 Gb/s, two machines are 2.0 times as fast as one; the exchange is hidden behind the computation.'
out_has 'for yours give bench=FILE'
verdict nodes=16 device=A100 network=25MB/s
says 'At 25.0*MB/s, one machine is 6.? times as fast as 16; *'
verdict compute_seconds=2
says 'One machine trains on 31,206 tokens per second and needs 6.9*days for 18.7*G tokens.'
out_has 'step on one device is as given, '
json nodes=2 device=T4
sed -n 2p plan.json | grep -q '"verdict": "At 1 Gb/s, ' || fail "the object begins with '$(sed -n 2p plan.json)'"
sed -n 3p plan.json | grep -q '"basis": "No T4 16 GB was ever measured' || fail "no word about the card"
expect 0 "$FERRY" plan "$base" nodes=2 device=T4 --html page.html
tr '\n' ' ' <page.html | grep -q '</h1>[^A-Za-z]*<p[^>]*>At 1 Gb/s, ' || fail "the page does not begin with the verdict"

# options of train, with their names; the tokens stay, the updates follow the batch
json batch_sentences=2048
[ "$(field steps)" = 150000.0 ] || fail "twice the batch wants half the updates, not $(field steps)"
json batch_sentences=2048 max_steps=300000
[ "$(field steps)" = 300000.0 ] || fail "the updates asked for are $(field steps)"
json batch_sentences=0 batch_tokens=3050 mean_length=30.5 nodes=2 device=V100 d_model=256 heads=4 \
    local_steps=4 shard_optimizer=true wire=int8 run=x eval_every=7
[ "$(field tokens_per_step)" = 6100.0 ] || fail "an update has $(field tokens_per_step) tokens"
json max_epochs=3 pairs=102400
[ "$(field steps)" = 300.0 ] || fail "three epochs are $(field steps) updates"
refuses 2 "did you mean 'local_steps'?" "$FERRY" plan "$base" local_step=4
refuses 2 'give pairs=N' "$FERRY" plan "$base" max_epochs=3
refuses 2 'one of them must be 0' "$FERRY" plan "$base" batch_tokens=4096
refuses 2 'less than two pairs per device: refused; an update of 1024 pairs is enough for 512 devices' \
    "$FERRY" plan "$base" nodes=1000
refuses 2 'less than two pairs' "$FERRY" plan "$base" batch=1.5

refuses 2 'give a training configuration' "$FERRY" plan
refuses 3 'none.yaml' "$FERRY" plan none.yaml
refuses 2 'want a rate such as 1Gb' "$FERRY" plan "$base" --network fast
refuses 2 'nothing is described under this name' "$FERRY" plan "$base" --device B52
refuses 2 'names 2 nodes, but there are nodes = 3' "$FERRY" plan "$base" --nodes 3 --per-node 1,2
refuses 2 'leaves vocab_size to the data' "$FERRY" plan "$ROOT/configs/demo.yaml"
for i in {1..60}; do echo "one ferry $i and a river"; done >en
expect 0 "$FERRY" prepare source=en target=en out=data vocab_size=60 measure=false
expect 0 "$FERRY" plan data/proposal.yaml
out_has 'data/proposal.yaml'
expect 0 "$FERRY" plan "$ROOT/configs/demo.yaml" data=data
expect 0 "$FERRY" plan "$ROOT/configs/demo.yaml" --vocab-size 4000 --nodes 2
refuses 2 'always sends fp32' "$FERRY" plan "$base" --method reference --wire int8
printf 'fp32_tflops: 10\n' >half.yaml
refuses 2 'lacks memory_gb_per_s' "$FERRY" plan "$base" --device half.yaml
printf 'speed: 10\n' >odd.yaml
refuses 2 "odd.yaml:1: unknown option 'speed'" "$FERRY" plan "$base" --device odd.yaml
printf 'hello\n' >b.json
refuses 4 'b.json:1: not a line of' "$FERRY" plan "$base" --bench b.json
echo '{"bench":"memory","gb_per_s":3}' >b.json
refuses 4 'holds no measured step' "$FERRY" plan "$base" --bench b.json
refuses 3 'nowhere/x.html' "$FERRY" plan "$base" --html nowhere/x.html
