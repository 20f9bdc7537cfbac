# Who lets others in is warned. A network of its own keeps them out while that is tried.
unshare -rn true 2>/dev/null || skip "a network of its own needs user namespaces"
model=$ROOT/tests/data/model.ferry
open_to() # HOST OPTION...
{
    python3 - "$FERRY" "$model" "$@" <<'PY'
import os, sys
sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests/cli"))
from serving import Server
ferry, model, host, *options = sys.argv[1:]
with Server(ferry, model, "host=" + host, *options) as s:
    print(*s.said, sep="\n")
PY
}
export -f open_to
export model
# shellcheck disable=SC2016
expect 0 unshare -rn bash -euc 'ip link set lo up
    echo "key" >keys.txt
    open_to 0.0.0.0 >open; open_to 0.0.0.0 keys=keys.txt >keyed
    open_to 127.0.0.1 >own; open_to ::1 >own6; open_to 0.0.0.0 keys=keys.txt --anonymous >anonymous'
for name in open anonymous; do
    grep -q '^warning: anyone who can reach this machine can use this server; give keys=FILE' $name ||
        fail "$name: no warning"
done
grep -q '^warning: others can reach this server; without TLS' keyed || fail "no warning about TLS"
! grep warning own own6 || fail "a warning for nothing"
