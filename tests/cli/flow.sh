# From nothing to a report, as a user would: each step's output is the next one's input.
. "$ROOT/tests/cli/tiny.bash"
lines() { wc -l <"$1"; }

expect 0 "$FERRY" sample corpus pairs=400 valid=20 test=20
out_has '400  pairs in corpus/train'
for f in train valid test; do
    [ "$(lines corpus/$f.en)" -eq "$(lines corpus/$f.de)" ] || fail "corpus/$f: unequal sides"
done

expect 0 "$FERRY" prepare source=corpus/train.en target=corpus/train.de \
    valid_source=corpus/valid.en valid_target=corpus/valid.de \
    test_source=corpus/test.en test_target=corpus/test.de out=data vocab_size=400
out_has '400  pieces in the vocabulary'
rm data/proposal.yaml # what follows is by its own options

# training talks on stderr; in the reference's words when asked to
options=("${tiny[@]}" data=data max_length=80 batch_tokens=300 eval_bleu=true)
expect 0 "$FERRY" train run=run "${options[@]}" max_steps=25 save_every=10 eval_every=20 \
    log_every=10 log_format=reference
[ ! -s .out ] || fail "training has no product on stdout"
err_has '*** Starting training from scratch'
err_has '*** Total trainable parameters: '
for step in 0 10 20; do
    grep -A 1 "^\*\*\* Global step $step: \*\*\*     Train loss: [0-9.]* \$" .err |
        grep -q '^time per step = 0:00:[0-9]*\.[0-9]\{3\}$' || fail "no reference line of step $step"
done
awk '/Running evaluation on a validation set:/ { a = NR }
     /EVAL Source\[0\]:/ && a { b = NR }
     /Validation loss: [0-9.]+ $/ && b > a { c = NR }
     /Eval BLUE score: / && c > b { d = NR }
     /Global step 20/ && d > c { e = NR }
     END { exit !e }' .err || fail "the lines of an evaluation are not in the reference's order"
err_has '*** Finished training'
err_has '*** Avg time per step: '
err_has '*** Avg objects per second: '

# it goes on with other lines, from its own configuration alone
expect 0 "$FERRY" train run=run max_steps=150 log_format=ferry eval_every=0
err_has 'resuming run'
err_has 'step 150/150'
err_has 'finished at step 150'
for f in config.yaml run.jsonl vocab.model checkpoint model.ckpt-150.index best_models; do
    [ -e "run/$f" ] || fail "run/$f is missing"
done
[ "$(grep -c '"event":"start"' run/run.jsonl)" -eq 2 ] || fail "want two sessions in the log"

expect 0 "$FERRY" eval run checkpoint=last
out_has 'checkpoint         run/model.ckpt-150'
expect 0 "$FERRY" eval run
out_has 'checkpoint         run/best_models/val_loss='
out_has 'test set           20 sentences'
out_has 'nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:'
expect 0 "$FERRY" eval run set=valid --json --no-bleu output=
out_has '"name": "valid"'
expect 0 "$FERRY" eval run checkpoint=best output=translated
[ "$(lines translated)" -eq 20 ] || fail "want 20 translations"
out_has 'run/best_models/val_loss='

# every metric, as `ferry score` computes it of the same files with the same options
same_scores() # MODEL OPTION... : eval's options; those of score are the same without score_
{
    local model=$1 metric option
    local -a files=(data/test.target) options=()
    local -A name=([bleu]=BLEU [chrf]=chrF2 [chrf++]=chrF2++ [ter]=TER)
    shift
    for option; do
        case $option in
        references=*) IFS=, read -ra files <<<"data/test.target,${option#*=}" ;;
        *) options+=("${option#score_}") ;;
        esac
    done
    expect 0 "$FERRY" eval "$model" data=data output=mine "$@"
    cp "$WORK/.out" table
    for metric in "${!name[@]}"; do
        "$FERRY" score "${files[@]}" mine metric="$metric" "${options[@]}" >line
        grep -qE "^${name[$metric]//+/\\+} +$(sed 's/^[^=]*= \([0-9.]*\).*/\1/' line) +" table ||
            fail "$metric of $model $*: $(cat line) is not in $(cat table)"
        grep -qF "$(sed 's/^[^|]*|//; s/ = .*$//' line)" table || fail "the signature of $metric"
    done
    grep -q '^repeating  *[0-9.]* %' table && grep -q '^length  *[0-9.]* ' table || fail "no length, no repetitions"
    expect 0 "$FERRY" eval "$model" data=data --json "$@"
    for metric in bleu chrf chrf_words ter repeating length_ratio; do
        grep -qE "\"$metric\": [0-9.]+" "$WORK/.out" || fail "JSON without $metric"
    done
}
same_scores run
same_scores run score_tokenize=none score_lowercase=true
sed 's/[aeiou]/e/3' data/test.target >second
tac second >third
same_scores run references=second,third score_lowercase=true
grep -q '^BLEU .*nrefs:3|' table || fail "three references are not in the signature"
head -3 second >three
refuses 4 'three has 3 lines, the set 20 pairs' "$FERRY" eval run references=second,three
gzip -c second >packed
refuses 4 'packed is compressed; unpack it' "$FERRY" eval run references=packed
expect 0 "$FERRY" pack run out=run.ferry data=data pairs=20
same_scores run.ferry score_tokenize=char
same_scores run.ferry references=second
refuses 2 'score_tokenize = mecab' "$FERRY" eval run score_tokenize=mecab

mkfifo sink
cat sink >read &
core=$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//') # one that we may use
expect 0 taskset -c "$core" "$FERRY" eval run checkpoint=best output=sink threads=2
wait $!
[ -p sink ] || fail "the pipe was replaced"
cmp read translated || fail "other translations came through the pipe"
err_has 'more threads than cores: 2 threads on 1 core'
refuses 3 'corpus is a directory' "$FERRY" eval run output=corpus

# translation: lines stay in order, whichever way the text comes and goes
{ sed -n 1,5p corpus/test.en; echo; sed -n 6,9p corpus/test.en; echo '   '; } >text
expect 0 "$FERRY" translate run text
cp .out all
[ "$(lines all)" -eq 11 ] || fail "want a line for each line"
[ -z "$(sed -n 6p all)$(sed -n 11p all)" ] || fail "an empty line should stay empty"
[ "$(sort -u all | wc -l)" -gt 2 ] || fail "every sentence got the same translation"
tac text >turned
expect 0 "$FERRY" translate run turned
tac .out | cmp - all || fail "lines in another order get other translations"
given "$(cat text)"
expect 0 "$FERRY" translate run
cmp .out all || fail "standard input gives other translations"
expect 0 "$FERRY" translate run text output=file window=1 threads=1
[ ! -s .out ] || fail "output= leaves nothing for stdout"
cmp file all || fail "one line at a time gives other translations"
expect 0 "$FERRY" translate run text beam=1
cp .out greedy
expect 0 "$FERRY" translate run text --greedy --scores
cut -f 1 .out | cmp - greedy || fail "greedy is not beam=1"
awk -F '\t' 'NF != 2 || $2 !~ /^-?[0-9.]+$/ { exit 1 }' .out || fail "a score is missing"
expect 0 "$FERRY" translate run text --nbest 3 --scores
cut -d ' ' -f 1 .out | sort -n -c || fail "hypotheses are not in the order of the lines"
[ "$(grep -c '^0 ||| ' .out)" -eq 3 ] || fail "want three hypotheses"
awk -F ' \\|\\|\\| ' '$1 == n && $3 > s { exit 1 } { n = $1; s = $3 }' .out ||
    fail "hypotheses are not sorted by score"
given ''
expect 0 "$FERRY" translate run
[ ! -s .out ] || fail "no text gives no translation"

expect 0 "$FERRY" score corpus/test.de translated
out_has 'BLEU|nrefs:1|'
expect 0 "$FERRY" score corpus/test.de corpus/test.de --score-only
out_is 100.00

# the mean of checkpoints is a model like any other
expect 0 "$FERRY" average run out=mean last=3
out_is mean
expect 0 "$FERRY" translate mean text
[ "$(lines .out)" -eq 11 ] || fail "the mean does not translate"
expect 0 "$FERRY" train run=tuned "${options[@]}" max_steps=1 init_from=mean
for f in data data/train.bin data/vocab.model run mean run/events.out.tfevents.* tuned/model.ckpt-1; do
    expect 0 "$FERRY" inspect "$f"
    [ -s .out ] || fail "inspect has nothing to say about $f"
done

expect 0 "$FERRY" report run
out_is run/report.html
grep -q '</html>' run/report.html || fail "the report does not end"
grep -q '<svg' run/report.html || fail "the report has no plots"
