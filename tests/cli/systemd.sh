# The unit of packaging/systemd as systemd reads it: without a complaint, and hard to get out of.
command -v systemd-analyze >/dev/null || skip "there is no systemd-analyze"
sed "s#/usr/bin/ferry#$FERRY#" "$ROOT/packaging/systemd/ferry.service" >ferry.service
grep -q "^ExecStart=$FERRY " ferry.service || fail "the unit starts another program"
expect 0 systemd-analyze verify --man=no "$PWD/ferry.service"
out_is ''
[ ! -s .err ] || fail "systemd complains about the unit"
grep -q '^DynamicUser=yes' ferry.service && grep -q '^LoadCredential=keys:/etc/ferry/keys' ferry.service ||
    fail "a user made for the service cannot read the keys of root"
