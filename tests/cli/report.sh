# Every number of a report is derived again from run.jsonl, and its pages are valid.
. "$ROOT/tests/cli/tiny.bash"
numbers() { python3 "$ROOT/tests/cli/report_numbers.py" "$@" >.numbers 2>&1 || fail "$(cat .numbers)"; }
valid()
{
    command -v tidy >/dev/null || return 0
    tidy -e -q --drop-empty-elements no "$1" 2>.tidy || true
    ! grep -q Error .tidy || fail "$1: $(cat .tidy)"
}

tiny_data data
train=("$FERRY" train run=run data=data "${tiny[@]}" eval_bleu=true eval_every=20 save_every=30)
expect 0 "${train[@]}" max_steps=130
expect 0 "$FERRY" report run
out_is run/report.html
numbers run --all
valid run/report.html
grep -q '^### 11\. ' run/report.md || fail "the Markdown lacks an answer"
grep -q 'stage: encode.*tokens' run/report.md || fail "the stages of preparation are not told"

# a file with both sides in it: its text is told all the same
paste train.en train.de >both.tsv
expect 0 "$FERRY" prepare pairs=both.tsv out=both vocab_size=80
expect 0 "$FERRY" train run=tsv data=both "${tiny[@]}" max_steps=10
expect 0 "$FERRY" report tsv
grep -q 'raw text, both sides.*120 lines' tsv/report.md || fail "the text of a .tsv is not told"
numbers tsv

# every option that changes what is learned has its line: shares of corpora, marks, layers that share
# weights, regularisation, agreement of views, further validation sets
tiny_data marked vocab_size=90 marks=bt,wd
expect 0 "$FERRY" prepare source=train.en target=train.de valid_source=test.en valid_target=test.de \
    out=translated tokenizer=marked/vocab.model mark=bt measure=false
expect 0 "$FERRY" train run=regular data=marked also_data=translated "${tiny[@]}" encoder_layers=2 \
    unique_encoder_layers=1 mix='translated:1 until 1; marked:0.6,translated:0.4' also_valid=translated \
    simcut=2 word_dropout=0.1 layer_drop=0.1 bpe_dropout=0.1 augment_typos=0.2 augment_digits=0.1 \
    smoothing=unigram max_steps=24 eval_every=4 eval_bleu=true
expect 0 "$FERRY" report regular
numbers regular
valid regular/report.html
tells() { grep -qF -e "$1" regular/report.md || fail "the report lacks '$1': $(cat regular/report.md)"; }
tells '| against it | residual\_dropout=0.1, attention\_dropout=0.1, relu\_dropout=0.1, word\_dropout=0.1, '
tells ' layer\_drop=0.1, bpe\_dropout=0.1, augment\_typos=0.2, augment\_digits=0.1, label\_smoothing=0.1, simcut=2.0, '
tells 'simcut=2.0, smoothing=unigram'
tells 'measured with residual\_dropout=0.1, attention\_dropout=0.1, relu\_dropout=0.1, word\_dropout=0.1, '
tells 'layer\_drop=0.1, which raises it: the gap is larger than it looks'
tells 'with bpe\_dropout=0.1, augment\_typos=0.2, augment\_digits=0.1 training loss is of other pieces or other text than '
tells '| disagreement of views, last | '
tells '| corpora | marked, translated'
tells '| shares of an epoch | translated:1 until 1; marked:0.6,translated:0.4'
tells '| marks that sources may begin with | bt,wd'
tells '| shared by encoder layers | 1 sets of weights for 2 layers, layer\_order=cycle'
tells '## Other validation sets'
tells '| translated | 24 | '

# a few steps between two lines of the log: all are logged, and nothing is foretold from them
expect 0 "$FERRY" train run=few data=data "${tiny[@]}" log_every=100 max_steps=16
expect 0 "$FERRY" report few steps=300000
numbers few
grep -q 'too few steps to tell how long more would take' few/report.md || fail "16 steps foretell"
expect 0 "$FERRY" train run=patient data=data "${tiny[@]}" learning_rate=9 log_every=1000 \
    max_steps=9000 eval_every=3 patience=2
grep -q '"reason":"early_stop"' patient/run.jsonl || fail "patience has no end"
evals=$(grep -c '"event":"eval"' patient/run.jsonl)
expect 0 "$FERRY" train run=patient
[ "$(grep -c '"event":"eval"' patient/run.jsonl)" -eq "$evals" ] ||
    fail "a run that had ended was evaluated again, which uses up its patience"
expect 0 "$FERRY" report patient
numbers patient

expect 8 "$FERRY" train run=failed data=data "${tiny[@]}" log_every=1000 max_steps=9000 \
    learning_rate=1000000 warmup_steps=100 skip_limit=2
expect 0 "$FERRY" report failed
grep -q '^\*\*State: died\.\*\* Died at step' failed/report.md || fail "an error is not told"
numbers failed

# resumed from before its end: what was taken twice counts as time, not as learning
rm run/model.ckpt-130.*
sed -i 's/model.ckpt-130/model.ckpt-120/g' run/checkpoint
expect 0 "${train[@]}" max_steps=200
expect 0 "$FERRY" report run steps=1000
numbers run
grep -q 'Resumed 1 time' run/report.html || fail "the resumption is not told"

# four ranks on two hosts, as run.jsonl would have it
python3 - <<'END'
import json, random
random.seed(3)
out = open("run.jsonl", "w")
put = lambda **o: out.write(json.dumps(o) + "\n")
t = 1.7e9
put(event="start", t=t, step=0, version="0.1.0", resumed=False, host="<i>n0", device="cpu",
    threads=1, ranks=4, nodes=2, parameters=1000, roof_gflops=90,
    config=dict(max_steps=2000, lr_policy="transformer_policy", learning_rate=2.0,
                warmup_steps=400, d_model=64),
    data=dict(train_pairs=5), network=dict(mb_per_s=117.0, latency_s=1e-4, clock_spread_s=0))
for step in range(10, 2001, 10):
    wait = 2 + random.random()
    ranks = []
    for r in range(4):
        compute = 3 + 0.01 * r + 0.01 * random.random()
        ranks.append(dict(rank=r, host=f"<i>n{r // 2}", t_step=5.5 + wait, t_data=0.01,
                          t_compute=compute, t_comm=5.3 + wait - compute, t_hidden=1.0,
                          t_update=0.1, cores=0.98, memory_mib=100,
                          sent_bytes=1e8, received_bytes=1e8))
    for r in (0, 2):
        ranks[r]["cards"] = dict(eth0=dict(sent=int(1e8 * (3 + wait)), received=int(3e8)))
    t += 5.5 + wait
    put(event="ranks", t=t, step=step, slowest=3, ranks=ranks)
    put(event="step", t=t, step=step, epoch=0, loss=2 + 50 / (10 + step) + 0.01 * random.random(),
        rate=2 / 8 * min(step * 400**-1.5, step**-0.5), grad_norm=1.0, source_tokens=900,
        target_tokens=1000, sentences=40, steps=10, tokens_per_s=1, gflops=70, memory_mib=100,
        skipped=0, **{k: v for k, v in ranks[0].items() if k.startswith("t_")})
    if step % 100 == 0:
        loss = 2 + 40 / (10 + step) + 0.001 * random.random()
        t += 1
        put(event="eval", t=t, step=step, valid_loss=loss, eval_loss=loss, forced_bleu=0.3,
            bleu=None, seconds=1.0)
put(event="stop", t=t, step=2000, reason="max_steps", message="")
END
mkdir four
mv run.jsonl four
expect 0 "$FERRY" report four
numbers four
valid four/report.html
! grep -q '<i>n' four/report.html || fail "a host's name became markup"
expect 0 "$FERRY" report run four out=both.html
valid both.html
grep -o 'href="#[^"]*"' both.html | sed 's/href="#//; s/"//' | while read -r id; do
    grep -q " id=\"$id\"" both.html || fail "the contents lead to $id, which is nowhere"
done
[ "$(grep -o 'href="#[^"]*"' both.html | wc -l)" -ge 5 ] || fail "the page has no contents"
grep -q 'max\\_steps 2000 instead of 200' both.md || fail "the options that differ are not told"
grep -q 'options are in the log of only one of four and run' both.md || fail "unknown options are not told"
! grep -q 'missing instead\|instead of missing' both.md || fail "an option that is not known is compared"
expect 0 "$FERRY" report four/run.jsonl out=alone.html # a log without its directory
mkfifo sink
cat sink >page.html &
expect 0 "$FERRY" report four out=sink
wait $!
[ -p sink ] || fail "the pipe was replaced"
valid page.html
[ ! -e sink.md ] && [ ! -e sink.json ] || fail "files were written beside a pipe"
refuses 2 'give the run directory' "$FERRY" report
command -v tidy >/dev/null || skip "the pages were not checked: there is no tidy"
