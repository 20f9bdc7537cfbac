# lab: 3 hosts
#
# Faults at random instants of a training on three uneven hosts (tests/net/breaking.bash). Takes
# from the list of tests/net/faults, which starts several of these side by side, one after the
# other, and appends a line of key=value words for each to RESULTS:
#
#   fault seed host     what was broken, by which seed, where
#   detect              seconds until the launcher named the loss
#   restart             from then until training began again: all ranks there, checkpoint read
#   caught              seconds from the fault until training was where it had been
#   redone              updates made again
#   bytes               equal: the last checkpoint is that of an undisturbed run; - on fewer ranks
#   order               equal: the same pairs in every update
#   outcome             ok, or what is wrong
#
# A fault called harmless must not start anything again. On fewer ranks the validation loss must
# be within 0.02 of the undisturbed run's.
. "$ROOT/tests/net/breaking.bash"
steps=${STEPS:-400}
harmless=' stop3 cut5 disk_full clock '

# Updates made again.
redone()
{
    awk -F '"step":' '
        /"event":"start"/ { if ($2 + 0 < last) n += last - $2; last = $2 + 0 }
        /"event":"step"/ { last = $2 + 0 }
        END { print n + 0 }' "$1/run.jsonl"
}
has_begun_again() { [ "$(grep -c '"event":"start"' "$1/run.jsonl")" -ge 2 ]; }
# Has the second start come to where the first one was?
has_caught_up()
{
    awk -F '"step":' '
        /"event":"start"/ { n++ }
        /"event":"step"/ { if (n < 2) lost = $2 + 0; else if ($2 + 0 >= lost) found = 1 }
        END { exit !found }' "$1/run.jsonl"
}
valid_loss_of() { sed -n 's/^{"event":"eval",.*"valid_loss":\([0-9.e+-]*\),.*/\1/p' "$1/run.jsonl" | tail -n 1; }
has_close_loss()
{
    awk -v a="$(valid_loss_of "$run")" -v b="$(valid_loss_of "$WORK/whole")" \
        'BEGIN { exit !(a > 0 && b > 0 && a - b < 0.02 && b - a < 0.02) }'
}
# Was there a start without a host, because it had not come back in time?
was_smaller() { grep 'ferry launch: start' launch.log | grep -qv ' 4 ranks on'; }
is_harmless() { [[ $harmless == *" $1 "* ]]; }

# The end of a run of `fault`: sets bytes, order and outcome.
judge()
{
    bytes=- order=differs outcome=ok
    ! same_order "$run" "$WORK/whole" "$steps" || order=equal
    was_smaller || { same_end "$run" "$WORK/whole" "$steps" >&2 && bytes=equal || bytes=differ; }
    if [ "$code" -ne 0 ]; then
        outcome=status_$code
    elif is_harmless "$fault" && [ "$(starts)" -ne 1 ]; then
        outcome=restarted
    elif [ "$bytes" = differ ]; then
        outcome=other_bytes
    elif [ "$order" != equal ] || ! has_close_loss; then
        outcome=other_training
    fi
}

begin_training()
{
    run=$WORK/run
    rm -rf "$run"
    case $fault in
    disk_full*)
        run=$(own_disk n1)/run
        train /tmp/node/run "$steps"
        ;;
    kill_in_save) train "$run" "$steps" save_every=2 ;; # there is nearly always one under way
    *) train "$run" "$steps" ;;
    esac
    until_true 120 is_beyond "$run" 0
    sleep "$((RANDOM % 2)).$((RANDOM % 10))"
}
is_over() { ! kill -0 "$job" 2>/dev/null; }

# One fault at a random instant; its words go to the file `said`.
try()
{
    local fault=$1 detect=- restart=- caught=- redone=- note='' old='' host t0 t1 t2 bytes order outcome
    RANDOM=$2
    echo 'outcome=waited_in_vain' >said
    reset_hosts
    host=$(struck_by "$fault")
    begin_training
    echo "host=$host outcome=waited_in_vain" >said
    t0=$(now)
    break_it "$fault"
    if ! is_harmless "$fault"; then
        until_true 120 is_seen "$fault"
        t1=$(now)
        mend_it "$fault"
        until_true 120 has_begun_again "$run"
        t2=$(now)
        until_true 120 has_caught_up "$run"
        detect=$(seconds "$t0" "$t1") restart=$(seconds "$t1" "$t2") caught=$(seconds "$t0" "$(now)")
    fi
    until_true 240 is_over
    await
    redone=$(redone "$run")
    judge
    echo "host=$host detect=$detect restart=$restart caught=$caught redone=$redone bytes=$bytes" \
        "order=$order outcome=$outcome ${note:+note=$note}" >said
}

# In a process of its own, so that what fails there is a line of the results, too.
trial()
{
    local seed=$((RANDOM * 32768 + RANDOM))
    try "$1" "$seed" &
    wait $! || lab end
    echo "fault=$1 seed=$seed $(cat said)" | tee -a "$RESULTS"
    grep -q 'outcome=ok' said || cp launch.log "$RESULTS.logs/$1-$seed.log"
}

# The next of the list that nobody has taken.
take() { flock "$RESULTS.lock" sh -c 'head -n 1 "$0" && sed -i 1d "$0"' "$RESULTS.todo"; }

train "$WORK/whole" "$steps"
await
[ "$code" -eq 0 ] || { cat launch.log; fail "status $code of an undisturbed run"; }
while fault=$(take) && [ "$fault" ]; do trial "$fault"; done
