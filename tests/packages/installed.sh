# What tools/test-packages runs in an empty Debian where the packages were installed: no network, an
# empty home.
cd "$HOME"
fail() { echo "FAIL: $*" >&2; exit 1; }

ferry version | sed '/^found here/q'
ferry version | grep -q 'configs base, big, demo, small in /usr/share/ferry/configs' || fail "configurations"

# a sentence, the same as where the model was made
ferry translate /mnt/model.ferry </mnt/text >translated
cmp translated /mnt/expected || fail "another translation than outside"
cat translated

# the library: the example in C in a fresh folder, and the module of Python
cc /mnt/translate.c -o example $(pkg-config --cflags --libs ferry)
./example /mnt/model.ferry </mnt/text >translated
cmp translated /mnt/expected || fail "the example in C translates otherwise"
python3 /mnt/use.py /mnt/model.ferry </mnt/text >translated
cmp translated /mnt/expected || fail "the module translates otherwise"

# from nothing to a model, by names of configurations
ferry sample text pairs=2000 >/dev/null 2>&1 || ferry sample text >/dev/null 2>&1
ferry prepare source=text/train.en target=text/train.de valid=100 test=100 out=data vocab_size=1000 measure=false 2>/dev/null >/dev/null
ferry train demo data=data run=run max_steps=3 eval_every=0 eval_bleu=false 2>/dev/null
ferry translate run </mnt/text >/dev/null 2>&1
ferry pack run out=own.ferry >/dev/null 2>&1
ferry plan base --device V100 --network 10Gb >/dev/null

# a server, asked by curl as LibreTranslate's clients ask
ferry serve /mnt/model.ferry --port 5000 2>served &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    curl -s -o health http://127.0.0.1:5000/health && break
    sleep 0.5
done
cat health
curl -s -d source=en -d target=de --data-urlencode "q=$(cat /mnt/text)" http://127.0.0.1:5000/translate | tee answer
grep -qF "$(cat /mnt/expected)" answer || fail "the server answers otherwise"
kill "$server"
wait "$server" || fail "the server did not end in order"

# nothing can be fetched here, and a sentence says so
if ferry fetch debian-de-en somewhere 2>said; then fail "fetched without a network"; fi
grep -q '^ferry fetch: ' said || fail "no sentence"

[ -s /usr/share/man/man1/ferry-train.1.gz ] || [ ! -d /usr/share/man/man1 ] || fail "no manual page"
[ -s /usr/share/bash-completion/completions/ferry ] || fail "no completion"
[ -s /lib/systemd/system/ferry.service ] || fail "no unit"
[ -s /usr/share/doc/ferry/copyright ] || fail "no licence"
