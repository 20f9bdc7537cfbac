# The state of a run in one word, the same in watch, report and comparison: a live run that logs
# rarely, a stopped, a finished, a killed and a frozen one, of one rank and of four. ctest: slow
. "$ROOT/tests/cli/tiny.bash"
. "$ROOT/tests/cli/mpirun.bash"
tiny_data data
endless=("${tiny[@]}" data=data max_steps=1000000000 log_every=50)
# steps of a tenth of a second and more
slow=("${endless[@]}" d_model=256 d_ff=1024 heads=4 encoder_layers=4 decoder_layers=4
    batch_tokens=4000)
four=("${mpirun[@]}" -n 4)

# what still runs, or sleeps, when the test fails
frozen4=
trap 'kill -KILL $(jobs -p) $frozen4 2>/dev/null || true; [ "${KEEP:-}" ] || rm -rf "$WORK"' EXIT

steps_of() { { cat "$1/run.jsonl" 2>/dev/null || true; } | grep -c '"event":"step"' || true; }
# start RUN COMMAND...: in the background, until it has logged its first step; $pid is its process
start()
{
    local run=$1 before
    before=$(steps_of "$1")
    shift
    last=$*
    "$@" >.out 2>.err &
    pid=$!
    for _ in $(seq 1 600); do
        [ "$(steps_of "$run")" = "$before" ] || return 0
        sleep 0.1
    done
    fail "$run logged no step"
}
# ranks PID: the processes of a job, PID itself where it is the only one
ranks()
{
    local all
    all=$(pgrep -P "$1" -x ferry || true)
    echo "${all:-$1}"
}
# state RUN WORD: as watch, report and its three files have it
state()
{
    local found
    expect 0 "$FERRY" watch "$1"
    grep -q "^$1  $2  " .out || fail "watch: $1 is not $2"
    expect 0 "$FERRY" report "$1"
    found=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["runs"][0]["state"])' \
        "$1/report.json")
    [ "$found" = "$2" ] || fail "report.json: $1 is $found, not $2"
    grep -q "^\*\*State: $2\.\*\*" "$1/report.md" || fail "report.md: $1 is not $2"
    grep -qi "class=\"lead\">$2" "$1/report.html" || fail "report.html: $1 is not $2"
}
# The log of RUN becomes two days older, in place: as long as its silence could ever last.
age()
{
    python3 - "$1/run.jsonl" <<'END'
import re, sys
with open(sys.argv[1], "r+b") as file:
    old = file.read()
    new = re.sub(rb'"t":(\d{10})', lambda t: b'"t":%d' % (int(t[1]) - 172800), old)
    file.seek(0)
    file.write(new)
END
}

start frozen1 "$FERRY" train run=frozen1 "${slow[@]}"
frozen1=$pid
start frozen4 "${four[@]}" "$FERRY" train run=frozen4 "${slow[@]}"
frozen4=$(ranks $pid)
[ "$(wc -w <<<"$frozen4")" -eq 4 ] || fail "four ranks should run"
age frozen1
age frozen4
state frozen1 running
state frozen4 running
# shellcheck disable=SC2086 # a list of processes
kill -STOP $frozen1 $frozen4
froze=$SECONDS

for n in 1 4; do
    program=("$FERRY" train)
    continues='ferry train run='
    [ "$n" -eq 1 ] || program=("${four[@]}" "${program[@]}")
    [ "$n" -eq 1 ] || continues='ferry launch -n 4 -- train run='
    expect 0 "${program[@]}" run="finished$n" "${tiny[@]}" data=data max_steps=25 log_every=50
    state "finished$n" finished
    expect 0 "$FERRY" watch "finished$n"
    out_lacks 'continue with'

    start "stopped$n" "${program[@]}" run="stopped$n" "${endless[@]}"
    state "stopped$n" running
    kill -TERM "$(ranks $pid | head -n 1)"
    wait $pid || fail "a signal should end it well"
    state "stopped$n" stopped
    expect 0 "$FERRY" watch "stopped$n"
    out_has "continue with: ${continues}stopped$n"
    grep -qF "<code>${continues}stopped$n</code>" "stopped$n/report.html" || fail "no command"
    # every update is in the log: steps, and their times, agree everywhere
    expect 0 python3 "$ROOT/tests/cli/report_numbers.py" "stopped$n"

    start "killed$n" "${program[@]}" run="killed$n" "${endless[@]}"
    # shellcheck disable=SC2046 # a list of processes
    kill -KILL $(ranks $pid)
    wait $pid 2>.err || true
    state "killed$n" died
    expect 0 "$FERRY" watch "killed$n"
    out_has "continue with: ${continues}killed$n"
done

while [ $((SECONDS - froze)) -lt 24 ]; do sleep 0.5; done
state frozen1 frozen
state frozen4 frozen
grep -q "kill -CONT $frozen1 wakes it" frozen1/report.html || fail "the process is not named"
start live1 "$FERRY" train run=live1 "${slow[@]}"
age live1
expect 0 "$FERRY" report live1 stopped4 finished1 killed1 frozen4 out=all.html
grep -q '^| state | running | stopped | finished | died | frozen |$' all.md || fail "compare: $(cat all.md)"

# shellcheck disable=SC2086
kill -KILL $pid $frozen1 $frozen4
frozen4=
wait 2>.err
state live1 died
state frozen1 died
state frozen4 died

# a run that was stopped goes on with the command as it was given
start stopped1 "$FERRY" train run=stopped1
kill -TERM $pid
wait $pid
state stopped1 stopped
