# What tools/test-packages runs in the root of the container, by its busybox: the
# server with the container's own command, and its own check of health.
fail() { echo "FAIL: $*" >&2; exit 1; }
here() { /bin/busybox "$@"; }

for package in busybox libsentencepiece; do # what is carried inside has its licence beside it
    here ls /usr/share/doc/ferry/licences | here grep -q "^$package" || fail "no licence of $package"
done
/usr/bin/ferry translate /models/model.ferry </tmp/text >/tmp/translated 2>/dev/null
here cmp /tmp/translated /tmp/expected || fail "another translation than outside"
/usr/bin/ferry serve /models/model.ferry --host 0.0.0.0 --port 5000 2>/tmp/served &
server=$!
n=0
until here wget -q -O /tmp/health http://127.0.0.1:5000/health; do
    n=$((n + 1))
    [ "$n" -lt 20 ] || fail "no answer from /health"
    here sleep 0.5
done
here cat /tmp/health
kill "$server"
wait "$server" || fail "the server did not end in order"
