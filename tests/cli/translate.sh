# Translating and averaging: raw lines in, raw lines out, and every mistake one sentence.
small_data
expect 0 "$FERRY" train data=data run=run d_model=16 d_ff=32 heads=2 encoder_layers=1 \
    decoder_layers=1 max_steps=4 save_every=2 eval_every=0 moving_average=0

head -n 7 en >seven
expect 0 "$FERRY" translate run seven
[ "$(wc -l <.out)" -eq 7 ] || fail "seven lines in, seven lines out"
cp .out want
gzip -c seven >seven.gz
expect 0 "$FERRY" translate run seven.gz
cmp .out want || fail "a packed file gave something else"
cp seven.gz .in
expect 0 "$FERRY" translate run
cmp .out want || fail "packed standard input gave something else"

mkfifo pipe
cat seven >pipe &
expect 0 "$FERRY" translate run pipe
cmp .out want || fail "a pipe with a name gave something else"

# A pipe, an output file and any window give the same; blank lines stay where they are.
given "$(cat seven)"
expect 0 "$FERRY" translate run
cmp .out want || fail "standard input gave something else"
expect 0 "$FERRY" translate run seven output=file window=2
cmp file want || fail "output= gave something else"
[ -s .out ] && fail "output= left something on standard output"
core=$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//') # one that we may use
# What is no file is written into and stays; a link stays, and the file behind it is replaced whole.
mkfifo sink
cat sink >read &
expect 0 "$FERRY" translate run seven output=sink
wait $!
[ -p sink ] || fail "the pipe was replaced"
cmp read want || fail "other lines came through the pipe"
mkdir elsewhere
echo old >elsewhere/file
ln -s elsewhere/file link
expect 0 "$FERRY" translate run seven output=link
[ "$(readlink link)" = elsewhere/file ] || fail "the link was replaced"
cmp elsewhere/file want || fail "the file behind the link has other lines"
expect 0 bash -c '{ echo first; "$@" && echo last; } >both' - "$FERRY" translate run seven output=/dev/stdout
{ echo first; cat want; echo last; } | cmp - both || fail "/dev/stdout was not written where it stood"
expect 3 "$FERRY" translate run seven output=/dev/full
err_has 'ferry translate: /dev/full: No space left on device'
if mknod null c 1 3 2>/dev/null && (: >null) 2>/dev/null; then # as root
    expect 0 "$FERRY" translate run seven output=null
    [ -c null ] || fail "the device was replaced"
fi
expect 0 taskset -c "$core" "$FERRY" translate run seven threads=2
err_has 'more threads than cores: 2 threads on 1 core'
cmp .out want || fail "more threads than cores gave something else"
refuses 2 'threads = 1024: more than 16 for each core, of which this process may use 1;' \
    taskset -c "$core" "$FERRY" translate run seven threads=1024
refuses 2 'workers = 64: more than 16 for each core, of which this process may use 1; workers=0 ' \
    taskset -c "$core" "$FERRY" translate run seven workers=64
given $'the ferry\n\n  \nthe river\n'
expect 0 "$FERRY" translate run beam=2
[ "$(sed -n 2,3p .out | tr -d '\n')" = "" ] || fail "blank lines should stay blank"
[ "$(wc -l <.out)" -eq 4 ] || fail "four lines in, four lines out"
given ''
expect 0 "$FERRY" translate run
out_is ''

expect 0 "$FERRY" translate run seven --scores
grep -qP '\t-\d+\.\d{6}$' .out || fail "no score after a tab"
cut -f 1 .out | cmp - want || fail "--scores changed the text"
expect 0 "$FERRY" translate run seven nbest=3
grep -qP '^6 \|\|\| .* \|\|\| -\d+\.\d{6}$' .out || fail "no nbest line of line 6"
expect 0 "$FERRY" translate run seven --greedy
expect 0 "$FERRY" translate run/model.ckpt-2 seven
expect 0 "$FERRY" translate run seven checkpoint=model.ckpt-2
expect 0 "$FERRY" translate run seven max_length=4 split=false
err_has '7 of 7 lines are longer than max_length = 4'

# A line of 350,000 sentences takes memory for what is found, not for all that may be.
python3 -c 'print("\u65e5\u3002" * 350000)' >sentences
expect 0 bash -c 'ulimit -v 700000 && "$@"' - \
    "$FERRY" translate run sentences nbest=64 beam=64 output=copied device=cpu threads=1
[ "$(cut -d ' ' -f 3 copied)" = "$(cat sentences)" ] || fail "the sentences were not copied"

refuses 2 'which run' "$FERRY" translate
refuses 3 'no such run' "$FERRY" translate nowhere seven
refuses 3 'nothing-here' "$FERRY" translate run nothing-here
refuses 3 'is a directory' "$FERRY" translate run data
refuses 3 'no checkpoint' "$FERRY" translate run seven checkpoint=model.ckpt-77

# lines that `ferry prepare` reads: sources beside translations, one for each that is asked for
sed '2s/ /\t/' seven >tabbed
expect 0 "$FERRY" translate run tabbed pairs=true
paste <(tr '\t' ' ' <tabbed) want | cmp - .out || fail "pairs are not source TAB translation"
expect 0 "$FERRY" translate run tabbed nbest=3
grep -oP '^\d+ \|\|\| \K.*(?= \|\|\| )' .out >best
expect 0 "$FERRY" translate run tabbed nbest=3 pairs=true output=all.tsv
cut -f 2 all.tsv | cmp - best || fail "pairs hold other translations than a list of the best"
cut -f 1 all.tsv | uniq | cmp - <(tr '\t' ' ' <tabbed) || fail "each translation has its source"
expect 0 "$FERRY" translate run tabbed sample=true nbest=2 pairs=true scores=true
[ "$(awk -F '\t' 'NF != 3' .out | wc -l)" -eq 0 ] && [ "$(wc -l <.out)" -eq 14 ] || fail "scores are a third column"
refuses 2 'pairs = true writes sources' "$FERRY" translate run seven pairs=true prefix=true
expect 0 "$FERRY" prepare pairs=all.tsv tokenizer=data/vocab.model out=distilled measure=false
refuses 2 'nbest = 5' "$FERRY" translate run seven nbest=5
refuses 2 'nbest = 2' "$FERRY" translate run seven nbest=2 --greedy
refuses 2 'did you mean' "$FERRY" translate run seven baem=4
printf 'fine\nfine\nnot \xff fine\n\xfe\n' >broken
expect 0 "$FERRY" translate run broken
err_has '2 of 4 lines hold bytes that are not UTF-8'
[ "$(grep -c . .out)" -eq 4 ] || fail "a line with a broken byte has no translation"
expect 4 "$FERRY" translate run broken invalid=refuse
err_has 'broken: line 3 is not valid UTF-8'
[ -s .out ] && fail "nothing of a broken window should be written"
expect 4 "$FERRY" translate run broken output=whole invalid=refuse
[ -e whole ] && fail "a failed translation left an output file"

# Several files: one after the other, into one file, or each into its own.
mkdir part
head -n 3 seven >part/a.en
tail -n 4 seven | gzip >part/b.en.gz
expect 0 "$FERRY" translate run part/a.en part/b.en.gz
cmp .out want || fail "two files gave something else than one"
expect 0 "$FERRY" translate run part/a.en part/b.en.gz output=both
cmp both want || fail "two files into one gave something else"
expect 0 "$FERRY" translate run part/a.en part/b.en.gz output='{dir}/{stem}.de'
cat part/a.de part/b.de | cmp - want || fail "a file each gave something else"
expect 0 "$FERRY" translate run part/b.en.gz output='{name}.de'
cmp part/b.de b.en.de || fail "{name} gave something else"
expect 0 "$FERRY" translate run part/a.en part/b.en.gz nbest=2
grep -q '^6 |||' .out || fail "the lines of two files are not numbered as one text"
printf 'a\n\xff\n' >part/c.en
expect 4 "$FERRY" translate run seven part/c.en invalid=refuse output=x
err_has 'part/c.en: line 2 '
refuses 2 'would overwrite the input file seven' "$FERRY" translate run seven output=seven
refuses 2 'would overwrite' "$FERRY" translate run part/a.en output='{dir}/{name}'
refuses 2 'would both be written' "$FERRY" translate run part/a.en part/c.en output='{dir}.de'
refuses 2 'only {dir}' "$FERRY" translate run seven output='{base}.de'
refuses 2 'standard input has no name' "$FERRY" translate run output='{name}.de'
refuses 3 'nothing-here' "$FERRY" translate run seven nothing-here output=both
cmp both want || fail "a mistake in a name overwrote an output"

# Outputs that cannot be written are refused before the model is looked for.
refuses 3 'missing/x: No such file or directory; the directory missing must exist' \
    "$FERRY" translate nowhere seven output=missing/x
refuses 3 'seven/x: Not a directory' "$FERRY" translate nowhere part/a.en output=seven/x
refuses 3 'part is a directory' "$FERRY" translate nowhere seven output=part
mkdir out
refuses 3 'out/part/a.de: No such file' \
    "$FERRY" translate nowhere seven part/a.en output='out/{dir}/{stem}.de'
mkdir out/part
if [ "$(id -u)" -ne 0 ]; then
    chmod a-w out/part
    refuses 3 'out/part/a.de: Permission denied' \
        "$FERRY" translate nowhere part/a.en output='out/{dir}/{stem}.de'
    chmod u+w out/part
fi

# Beside another program: an answer to each line at once, and the same bytes.
cat >talk.py <<'END'
import subprocess, sys, time
ferry = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for line in open("seven", "rb"):
    ferry.stdin.write(line[:9])
    ferry.stdin.flush()
    time.sleep(0.1)  # half a line is no line
    ferry.stdin.write(line[9:])
    ferry.stdin.flush()
    sys.stdout.buffer.write(ferry.stdout.readline())
ferry.stdin.close()
sys.exit(ferry.wait())
END
for stream in auto true; do
    expect 0 timeout 60 python3 talk.py "$FERRY" translate run stream=$stream
    cmp .out want || fail "a conversation with stream=$stream gave something else"
done
cp seven .in
expect 0 "$FERRY" translate run stream=false
cmp .out want || fail "stream=false gave something else"

# The mean of two checkpoints is a model directory.
expect 0 "$FERRY" average run last=2 out=mean
out_is mean
err_has 'loss on the validation set:'
grep -qE '^  [0-9.]+  run/model.ckpt-4: the mean is [0-9.]+ % (better|worse)$' .err || fail "no comparison"
loss=$(sed -n 's/^  \([0-9.]*\)  the mean$/\1/p' .err)
expect 0 "$FERRY" eval mean set=valid bleu=false
out_has "$loss  per token"
expect 0 "$FERRY" watch mean --once
out_has 'nothing logged yet'
mv data away
expect 0 "$FERRY" average run last=2 out=mean2
err_has 'not measured on the validation set: '
mv away data
expect 0 "$FERRY" average run steps=4,2 out=mean3
err_has 'run/model.ckpt-4: the mean is'
expect 0 "$FERRY" average run steps=4 out=mean1
err_has 'run/model.ckpt-4: the mean is as good'
err_lacks 'averaging helps'
cmp mean/model.ckpt-4.data-00000-of-00001 mean2/model.ckpt-4.data-00000-of-00001

# Checkpoints a hundred epochs apart (0x64) are not averaged by accident.
cp run/model.ckpt-4.state state
# epoch HEX: into the state, which then is one without a checksum
epoch()
{
    python3 - state "$1" >run/model.ckpt-4.state <<'END'
import json, sys
state = json.load(open(sys.argv[1]))
del state["version"], state["checksum"]
print(json.dumps(dict(state, epoch=sys.argv[2])))
END
}
epoch 65
refuses 2 'run/model.ckpt-2 and run/model.ckpt-4 are 10' "$FERRY" average run last=2 out=far
[ -e far ] && fail "a refused average left something"
expect 0 "$FERRY" average run last=2 out=far force=true
epoch 63
expect 0 "$FERRY" average run last=2 out=near
mv state run/model.ckpt-4.state
expect 0 "$FERRY" translate mean seven
[ "$(wc -l <.out)" -eq 7 ] || fail "the mean does not translate"
expect 0 "$FERRY" average run steps=4 out=one
expect 0 "$FERRY" translate one seven
cmp .out want || fail "the mean of one checkpoint is not that checkpoint"
expect 0 "$FERRY" average run run/model.ckpt-0 model.ckpt-4.index out=two
expect 0 "$FERRY" average run last=9 out=all
grep -qE '^averaged [2-8] checkpoints, all that run has \(last = 9\):$' .err || fail "fewer than asked for, not said"
refuses 2 'is there already' "$FERRY" average run out=mean
refuses 2 'out is not set' "$FERRY" average run
refuses 3 'no such run' "$FERRY" average nowhere out=x
refuses 2 'steps = 2;4' "$FERRY" average run 'steps=2;4' out=x
refuses 3 'model.ckpt-99' "$FERRY" average run steps=99 out=x

# What is no text is refused before the model is read.
printf '%%PDF-1.7\n' >a.pdf
refuses 4 'a.pdf is a PDF document, and text is wanted' "$FERRY" translate run seven a.pdf
[ ! -s .out ] || fail "something was translated first"
cp a.pdf .in
expect 4 "$FERRY" translate run
err_has 'standard input is a PDF document'

# A tokenizer that does not belong to the model; a damaged newest checkpoint.
expect 0 "$FERRY" prepare source=en target=de valid_source=valid.en valid_target=valid.de \
    out=other vocab_size=110
cp -r mean mixed
cp other/vocab.model mixed/vocab.model
refuses 4 'mixed/vocab.model is not as the training wrote it' "$FERRY" translate mixed seven
sed -i '/^# checksum /d' mixed/config.yaml # it is meant
refuses 2 'tokenizer' "$FERRY" translate mixed seven
truncate -s 100 run/model.ckpt-4.index
expect 0 "$FERRY" translate run seven checkpoint=last
err_has 'model.ckpt-2 instead'
