# What tools/test-packages runs in an empty Debian with Python and without the packages: the wheel,
# installed without network into an empty virtual environment, brings what it needs.
cd "$HOME"
fail() { echo "FAIL: $*" >&2; exit 1; }

! ls /usr/lib/*/libsentencepiece* /usr/lib/*/libmicrohttpd* 2>/dev/null || fail "a library of the system would be taken"
python3 -m venv env
env/bin/pip --quiet --disable-pip-version-check install --no-index /mnt/ferry-*.whl
env/bin/pip --disable-pip-version-check check
env/bin/ferry version | grep -q "configs base, big, demo, small in $HOME/env/" || fail "configurations"
env/bin/ferry translate /mnt/model.ferry </mnt/text >translated 2>/dev/null
cmp translated /mnt/expected || fail "another translation than outside"
env/bin/python /mnt/use.py /mnt/model.ferry </mnt/text >translated
cmp translated /mnt/expected || fail "the module translates otherwise"

# the server, whose library is opened at run time, is asked by Python: there is no curl here
env/bin/ferry serve /mnt/model.ferry --port 5001 2>served &
server=$!
env/bin/python - "$(cat /mnt/expected)" <<'END' || fail "the server answers otherwise"
import json, sys, time, urllib.parse, urllib.request
body = urllib.parse.urlencode({"q": open("/mnt/text").read().strip(), "source": "en", "target": "de"}).encode()
for n in range(20):
    try:
        answer = urllib.request.urlopen("http://127.0.0.1:5001/translate", body).read()
        break
    except OSError:
        time.sleep(0.5)
sys.exit(json.loads(answer)["translatedText"] != sys.argv[1])
END
kill "$server"
wait "$server" || fail "the server did not end in order"
[ -s env/share/man/man1/ferry-train.1 ] || fail "no manual page"

env/bin/pip --quiet --disable-pip-version-check uninstall -y ferry
[ ! -e env/bin/ferry ] || fail "the program was left"
