# Another user of the same machine against a job of ferry launch: its token is nowhere to be read,
# its shared memory is closed, and its control channel, at the launcher and at the leader of the
# ranks, takes nothing from a stranger, who floods it with connections, garbage and replayed greetings. The run has the bytes of a quiet one.
[ "$(id -u)" -eq 0 ] || skip "to be somebody else needs root"
for tool in setpriv mpirun python3; do
    command -v "$tool" >/dev/null || skip "there is no $tool"
done
stranger()
{
    env PATH=/usr/bin:/bin setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs -- "$@"
}
chmod 755 .
cp "$ROOT/tests/cli/nobody.py" .
stranger python3 -c 'open("nobody.py")' 2>/dev/null || skip "another user cannot run python3 in $WORK"
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
mkdir home
export HOME=$WORK/home
train=(launch -n 2 bind=false restarts=0 -- train "${tiny[@]}" data=data save_every=100 max_steps=6000)

expect 0 "$FERRY" "${train[@]}" run=quiet
"$FERRY" "${train[@]}" run=run >.out 2>.err &
job=$!
for ((i = 0; i < 400; i++)); do
    [ ! -s run/checkpoint ] || break
    sleep 0.05
done
[ -s run/checkpoint ] || fail "the job did not begin"
rank=$(pgrep -f "^$FERRY train .*run=run" | head -n 1)
port=$(tr '\0' '\n' <"/proc/$rank/environ" | sed -n 's/^FERRY_CONTROL=.*://p')
cat home/.ferry/*.token >token
chmod 600 token
stranger python3 nobody.py "$WORK" "$port" <token || fail "a stranger got in"
code=0
wait "$job" || code=$?
[ "$code" -eq 0 ] || fail "status $code of the job"
cmp quiet/model.ckpt-6000.data-00000-of-00001 run/model.ckpt-6000.data-00000-of-00001 ||
    fail "the stranger changed the result"
[ -z "$(ls home/.ferry)" ] || fail "a token is left over"
