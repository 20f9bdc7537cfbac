# Odd and hostile lines: one line out for each, none empty unless its source is; ctest: slow
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
expect 0 "$FERRY" train data=data run=run "${tiny[@]}" max_steps=8

odd() { python3 "$ROOT/tests/cli/odd_lines.py" "$@"; }
odd make 5000 1 >odd
expect 0 "$FERRY" translate run odd output=all --greedy
odd judge odd all >.wrong || fail "$(cat .wrong)"
err_has 'lines hold bytes that are not UTF-8'
err_has 'which was translated in parts'
err_has 'would have had a translation of fewer than min_length = 1 pieces'
err_has 'could have occurred more often than max_repeats = 3 allows'
err_has 'had no end within its limit and was cut there'
err_has 'were copied'
head -n 300 odd >some
for options in beam=3 split=false max_repeats=0; do
    expect 0 "$FERRY" translate run some output=other beam=1 "$options"
    odd judge some other >.wrong || fail "$options: $(cat .wrong)"
done
expect 0 "$FERRY" translate run some output=other --greedy window=7
head -n 300 all | cmp - other || fail "the window changed a text"
