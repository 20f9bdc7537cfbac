# The live view: one picture, a terminal that is left as it was found, and a careful server.
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
expect 0 "$FERRY" train run=run data=data "${tiny[@]}" max_steps=40 eval_every=10
expect 0 "$FERRY" watch run
out_has 'step 40 of 40'
out_has 'training loss'
[ "$(wc -l <.out)" -le 24 ] || fail "more than 24 lines"
refuses 3 'none: no such directory' "$FERRY" watch none
refuses 2 'give the run directory' "$FERRY" watch
refuses 2 "no address to listen on" "$FERRY" watch run --http bind=nowhere

# a host's name that would move the cursor is shown, not obeyed
mkdir evil
printf '{"event":"start","t":1,"step":0,"ranks":1,"device":"a\\u001b[2Jb","config":{}}\n' >evil/run.jsonl
expect 0 "$FERRY" watch evil
out_has 'a?[2Jb'

expect 0 python3 "$ROOT/tests/cli/watch_terminal.py" "$FERRY" run
expect 0 python3 "$ROOT/tests/cli/watch_http.py" "$FERRY" run
