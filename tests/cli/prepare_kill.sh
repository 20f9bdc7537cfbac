# Killed at twenty moments, preparation goes on behind the last finished stage and ends
# with the bytes of a run that was never killed, whatever the threads and the memory.
. "$ROOT/tests/cli/tiny.bash"
tiny_text train 0 6000
tiny_text valid 9000 50
for i in $(seq 1 40); do # some to drop
    echo '' >>train.en
    echo 'text without a source' >>train.de
done
gzip -k train.en
options=(source=train.en.gz target=train.de valid_source=valid.en valid_target=valid.de
    test=50 vocab_size=120 duplicates=near --reference-names source_lang=en target_lang=de
    measure=false)

start=$(date +%s%N)
expect 0 "$FERRY" prepare "${options[@]}" out=whole
usual_ms=$((($(date +%s%N) - start) / 1000000 + 1))

# Everything but the times, which are those of the clock.
facts() { grep -vE '"(seconds|pairs_a_second|peak_mib|resumed|out|count|clean|learn|encode|pack|total|threads|memory_mib)":' "$1"; }

# same DIR: all files of it are those of `whole`
same()
{
    diff <(cd whole && ls) <(cd "$1" && ls) || fail "$1 has other files"
    for f in whole/*; do
        case $f in
        */prepare.json) diff <(facts "$f") <(facts "$1/prepare.json") || fail "$1/prepare.json differs" ;;
        *) cmp "$f" "$1/${f#whole/}" || fail "$1/${f#whole/} differs" ;;
        esac
    done
}

# Kills fall within the time that it takes: less after a round that ended by itself, more after
# one that did not, because other work on the machine comes and goes.
RANDOM=${SEED:-11}
n_killed=0
n_resumed=0
for round in $(seq 1 20); do
    dir=run$((round % 4)) # five kills in a row for each directory
    last="round $round of ferry prepare out=$dir"
    "$FERRY" prepare "${options[@]}" out=$dir threads=$((round % 2 + 1)) >.out 2>.err &
    pid=$!
    sleep "$(printf '%d.%03d' 0 $((RANDOM % (usual_ms < 900 ? usual_ms : 900))))"
    kill -KILL $pid 2>/dev/null || true
    got=0
    wait $pid 2>/dev/null || got=$?
    case $got in
    137) n_killed=$((n_killed + 1)) usual_ms=$((usual_ms * 9 / 8 + 1)) ;;
    0) usual_ms=$((usual_ms / 2 + 1)) ;;
    *) fail "round $round: status $got" ;;
    esac
    [ ! -e $dir/prepare.json ] || "$FERRY" inspect $dir --verify >/dev/null || fail "round $round: a mark on a directory that is not whole"
    ! grep -q 'done by an earlier run' .err || n_resumed=$((n_resumed + 1))
done
[ "$n_killed" -ge 10 ] || fail "only $n_killed of 20 were killed"
for dir in run0 run1 run2 run3; do
    expect 0 "$FERRY" prepare "${options[@]}" out=$dir threads=1
    ! grep -q 'done by an earlier run' .err || n_resumed=$((n_resumed + 1))
    same $dir
    [ ! -e $dir/prepare.work ] || fail "the place of work is left"
    [ -z "$(find $dir -name '*.tmp-*')" ] || fail "half-written files are left"
done
[ "$n_resumed" -gt 0 ] || fail "no run went on where an earlier one was"

# Another corpus or other options begin anew; two at a time are refused. A mark or a proposal that
# a kill left half-written goes, and nothing else that looks like it.
mkdir -p run0/prepare.work
touch run0/prepare.json.tmp-ferry-99-0 run0/proposal.yaml.tmp-ferry-99-0 run0/mine.tmp-99
expect 0 "$FERRY" prepare "${options[@]}" out=run0 seed=2 --fresh
err_lacks 'done by an earlier run'
[ ! -e run0/prepare.json.tmp-ferry-99-0 ] || fail "a half-written mark is left"
[ ! -e run0/proposal.yaml.tmp-ferry-99-0 ] || fail "a half-written proposal is left"
[ -e run0/mine.tmp-99 ] || fail "a file of the user's was removed"
! cmp -s run0/train.bin whole/train.bin || fail "another seed gave the same order"
mkdir -p run1/prepare.work
exec 7<run1/prepare.work
flock 7
refuses 3 'another ferry prepare is running there' "$FERRY" prepare "${options[@]}" out=run1
exec 7<&-
