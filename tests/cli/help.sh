# Every command explains itself; mistakes in names are answered with the right name.
expect 0 "$FERRY" --help
err_lacks ferry
commands=$(sed -n '/^usage/,/^ferry/s/^  \([a-z]*\) .*/\1/p' .out)
[ "$(wc -w <<<"$commands")" -ge 9 ] || fail "ferry --help lists too few commands"
cp .out overview
for words in help -h; do
    expect 0 "$FERRY" "$words"
    cmp -s .out overview || fail "ferry $words says something else"
done

for command in $commands; do
    expect 0 "$FERRY" "$command" --help
    out_has "usage: ferry $command"
    [ ! -s .err ] || fail "help belongs on stdout"
    awk 'length > 100 { exit 1 }' .out || fail "a line of help is too wide"
    cp .out options
    expect 0 "$FERRY" "$command" some words -h
    cmp -s .out options || fail "ferry $command -h says something else"
    expect 0 "$FERRY" help "$command"
    cmp -s .out options || fail "ferry help $command says something else"
    refuses 2 "unknown option 'no-such-option'" "$FERRY" "$command" --no-such-option
done

refuses 2 "did you mean 'train'?" "$FERRY" trian
refuses 2 "did you mean 'train'?" "$FERRY" help trian
refuses 2 "unknown command 'zzzzzz'" "$FERRY" zzzzzz
refuses 2 "did you mean 'max_steps'?" "$FERRY" train max_stpes=3
refuses 2 "did you mean 'max_steps'?" "$FERRY" train --max-stpes 3
expect 2 "$FERRY"
err_has "usage:"

# Hostile bytes of a message do not reach the terminal.
refuses 2 "unknown command" "$FERRY" $'\e[31mred\nline'
! grep -q $'\e' .err || fail "an escape sequence was passed on"

# A full disk is an error, a reader that leaves is not.
if [ -w /dev/full ]; then
    got=0
    "$FERRY" --help >/dev/full 2>.err || got=$?
    [ "$got" -eq 3 ] || fail "status $got on a full disk, want 3"
    err_has "standard output"
fi
{ sleep 0.2; "$FERRY" --help 2>.err || true; } | :
[ ! -s .err ] || fail "a closed pipe should end the program quietly"
