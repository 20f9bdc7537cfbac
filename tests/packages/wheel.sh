# What tools/test-packages runs in an empty Debian with Python and without the packages: the wheel,
# installed without network into an empty virtual environment, brings what it needs.
cd "$HOME"
fail() { echo "FAIL: $*" >&2; exit 1; }

! ls /usr/lib/*/libsentencepiece* 2>/dev/null || fail "a library of the system would be taken"
python3 -m venv env
env/bin/pip --quiet --disable-pip-version-check install --no-index /mnt/ferry-*.whl
env/bin/pip --disable-pip-version-check check
env/bin/ferry version | grep -q "configs base, big, demo, small in $HOME/env/" || fail "configurations"
env/bin/ferry translate /mnt/model.ferry </mnt/text >translated 2>/dev/null
cmp translated /mnt/expected || fail "another translation than outside"
env/bin/python /mnt/use.py /mnt/model.ferry </mnt/text >translated
cmp translated /mnt/expected || fail "the module translates otherwise"
[ -s env/share/man/man1/ferry-train.1 ] || fail "no manual page"

env/bin/pip --quiet --disable-pip-version-check uninstall -y ferry
[ ! -e env/bin/ferry ] || fail "the program was left"
