# tools/demo trains with two ranks where they are faster than one, and with one where they are not or
# where there is no mpirun. Program and mpirun are stand-ins; $TWO and $ONE are their speeds.
mkdir -p tools bin build/release tests/cli configs
cp "$ROOT/tools/demo" tools
: >tests/cli/report_numbers.py

cat >build/release/ferry <<'STANDIN'
#!/usr/bin/env bash
set -eu
for arg; do
    case $arg in
    run=*) run=${arg#run=} ;;
    output=*) echo "ein Satz" >"${arg#output=}" ;;
    --score-only) echo 12.00 && exit ;;
    esac
done
case $1 in
sample) mkdir -p "$2" && echo "a line" | tee "$2/test.en" >"$2/test.de" ;;
train)
    mkdir -p "$run"
    echo "${ranks:-1} $run" >>trained
    for rate in 7 "${speed:-$ONE}.5"; do echo "{\"event\":\"step\",\"step\":20,\"tokens_per_s\":$rate}"; done >"$run/run.jsonl"
    echo '{"event":"end"}' >>"$run/run.jsonl"
    ;;
esac
STANDIN
cat >bin/mpirun <<'STANDIN'
#!/usr/bin/env bash
[ "$1 $2" = "-n 2" ] || exit 1
while [ "${1%train*}" = "$1" ] && [ "${1##*/}" != ferry ]; do shift; done
ranks=2 speed=$TWO exec "$@"
STANDIN
chmod +x build/release/ferry bin/mpirun
for tool in bash env sed tail head mkdir rm touch awk paste yes nproc id dirname cat tee; do
    ln -s "$(command -v "$tool")" "bin/$tool"
done

# chosen RANKS: the demo in an empty directory trains so at last
chosen()
{
    rm -rf demo trained
    expect 0 env PATH="$WORK/bin" tools/demo
    [ "$(tail -n 1 trained)" = "$1 demo/run" ] || fail "trained with $(tail -n 1 trained), want $1"
}

export ONE=100 TWO=200
chosen 2
out_has "two ranks: 200 tokens per second; one rank with all threads: 100"
out_has "English to German: two ranks"
[ "$(sed 's/.*pace/pace/' trained | head -n 2)" = "$(printf 'pace/two\npace/one')" ] || fail "not both were timed"
[ ! -e demo/pace ] || fail "the timed runs were left behind"

export ONE=200 TWO=199
chosen 1
out_has "English to German: one rank"

rm bin/mpirun
chosen 1
out_lacks "which is faster here"
[ "$(grep -c . trained)" -eq 1 ] || fail "timed without a choice"

# what somebody else made is not removed
mkdir mine
expect 2 env PATH="$WORK/bin" tools/demo mine
err_has "not an earlier demo"
