# Archives from a server that does everything wrong: whole and checked, or not there at all.
printf 'corpus x\nfile a\nurl http://127.0.0.1:1/a\nmember train.en b 1 lines\n' >probe.corpus
if "$FERRY" fetch probe.corpus probe --retries 0 2>&1 | grep -q 'built without libcurl'; then
    skip "ferry was built without libcurl"
fi
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY
mkdir srv
python3 - <<'PY'
import random, tarfile, io
rng = random.Random(1)
def add(tar, name, text):
    info = tarfile.TarInfo(name)
    info.size = len(text)
    tar.addfile(info, io.BytesIO(text))
def lines(n):
    return b"".join(b"%032x some words\n" % rng.getrandbits(128) for _ in range(n))
en, de = lines(1500), lines(1500)[:-1]  # the last line without its end
sgm = b"<doc>\n" + b"".join(b"<seg id=%d>a</seg>\n" % i for i in range(7)) + b"</doc>"
for name, n in ("a.tgz", 1500), ("few.tgz", 1499):
    with tarfile.open("srv/" + name, "w:gz") as tar:
        add(tar, "deep/er/other", b"x\n")
        add(tar, "deep/er/a.en", en if n == 1500 else en[:-48])
        add(tar, "deep/er/a.de", de)
        add(tar, "deep/er/t.sgm", sgm)
open("en", "wb").write(en)
open("de", "wb").write(de)
def hostile(name, *members):
    with tarfile.open("srv/" + name, "w:gz") as tar:
        for member in members:
            info = tarfile.TarInfo(member[0])
            if len(member) > 1:
                info.type, info.linkname = tarfile.SYMTYPE, member[1]
            tar.addfile(info)
hostile("up.tgz", ("a/../../a.en",))
hostile("root.tgz", ("/tmp/a.en",))
hostile("link.tgz", ("a.en", "/etc/passwd"))
hostile("none.tgz", ("b.en",))
class Zeros(io.RawIOBase):
    def readinto(self, buf):
        buf[:] = bytes(len(buf))
        return len(buf)
def bomb(name, member, n):
    with tarfile.open("srv/" + name, "w:gz", compresslevel=1) as tar:
        info = tarfile.TarInfo(member)
        info.size = n
        tar.addfile(info, Zeros())
bomb("bomb.tgz", "a.en", 3 << 20)
bomb("other.tgz", "other", 250 << 20)
PY

start_server() { # words of its own; sets port
    coproc python3 "$ROOT/tests/cli/fetch_server.py" "$@" 2>/dev/null
    read -r port <&"${COPROC[0]}"
}
start_server srv
[ "$port" ] || fail "the server did not start"

catalogue() # NAME URL...
{
    local name=$1
    shift
    echo "corpus $name"
    echo "file a.tgz"
    printf 'url %s\n' "$@"
    printf 'member train.en a.en 1500 lines\nmember train.de a.de 1500 lines\n'
    echo "member test.en t.sgm 7 segments"
}
quick=(--retries 4 --backoff 0.05 --stall 1)
at() { printf 'http://127.0.0.1:%s/%s/a.tgz' "$port" "$1"; }
is_whole() { cmp en "$1/a.en" && cmp de "$1/a.de" && [ -s "$1/archives/a.tgz" ]; }
has_nothing() # DIR: no file has a name that would be taken for a whole one
{
    [ ! -e "$1/a.en" ] && [ ! -e "$1/a.de" ] && [ ! -e "$1/archives/a.tgz" ] || fail "$1: a partial file has a name"
    ! ls "$1" | grep -q tmp || fail "$1: temporary files are left"
}
requests() { grep -c "^/$1/" srv/log || true; }
fetch_from() # STATUS MODE: in a directory called MODE
{
    catalogue "$2" "$(at "$2")" >"$2.corpus"
    expect "$1" "$FERRY" fetch "$2.corpus" "$2" "${quick[@]}"
}

# What must succeed, and how often it has to ask.
for row in ok:1 cut:3 stall:2 drop:3 busy:2 change:2 mix:3 weak:2 shift:3 chunked:2; do
    mode=${row%:*}
    fetch_from 0 "$mode"
    is_whole "$mode" || fail "$mode: not the file of the server"
    [ "$(requests "$mode")" -eq "${row#*:}" ] || fail "$mode: $(requests "$mode") requests, want ${row#*:}"
    [ ! -e "$mode/archives/a.tgz.part" ] && [ ! -e "$mode/archives/a.tgz.part.meta" ] || fail "$mode: parts are left"
done
fetch_from 0 move
is_whole move
grep -q '^/cut/a.tgz bytes=' srv/log || fail "a cut download was not continued"
! grep -q '^/weak/a.tgz bytes=' srv/log || fail "continued without a strong validator"

quick=(--retries 1 --backoff 0.05 --stall 1)

# What must fail, with the reason, and leave nothing that looks whole.
while IFS='|' read -r mode status text; do
    fetch_from "$status" "$mode"
    err_has "$text"
    has_nothing "$mode"
done <<'ROWS'
never|3|gave up after 2 tries
silent|3|gave up
long|3|gave up
circle|3|redirects more than 10 times
file|3|Protocol "file" not supported
empty|3|empty
unsized|3|sends no Content-Length
huge|3|sends more than 199 MB
short|4|ends too early
garbage|4|this is no tar archive
noise|4|damaged
nothere|3|gave up
ROWS
catalogue ok "http://127.0.0.1:$port/ok/missing.tgz" >missing.corpus
for name in few:'has 1499 lines, and should have 1500' up:'climbs out' root:'absolute name' \
    link:'is a link' none:'has no member' bomb:'member a.en has 3145728 bytes' \
    other:'unpacks to more than 199 MB'; do
    catalogue x "http://127.0.0.1:$port/ok/${name%%:*}.tgz" >x.corpus
    rm -rf x
    expect 4 "$FERRY" fetch x.corpus x "${quick[@]}"
    err_has "${name#*:}"
    has_nothing x
done

# The next address has its turn; a mirror comes before all of them.
catalogue many "$(at garbage)" "$(at never)" "$(at ok)" >many.corpus
expect 0 "$FERRY" fetch many.corpus many "${quick[@]}" --retries 0
is_whole many
catalogue dead "http://127.0.0.1:1/x/a.tgz" >dead.corpus
refuses 3 '127.0.0.1' "$FERRY" fetch dead.corpus dead --retries 0
mkdir srv/x && cp srv/a.tgz srv/x/a.tgz
expect 0 "$FERRY" fetch dead.corpus dead "${quick[@]}" --mirror "http://127.0.0.1:$port/ok/"
is_whole dead
refuses 2 'mirror' "$FERRY" fetch dead.corpus dead2 --mirror ftp://host

# A second run asks for nothing; what was recorded is compared ever after.
n=$(requests ok)
expect 0 "$FERRY" fetch ok.corpus ok "${quick[@]}"
out_has '1500  lines in ok/a.en'
out_has 'source=ok/a.en'
[ "$(requests ok)" -eq "$n" ] || fail "a second run downloads again"
sum=$(sha256sum <ok/archives/a.tgz | cut -d' ' -f1)
grep -q "$sum" ok/fetch.json || fail "the SHA-256 of the archive is not recorded"
cp ok/a.en kept
echo more >>ok/a.en
refuses 4 'is not what was unpacked' "$FERRY" fetch ok.corpus ok
grep -q more ok/a.en || fail "a changed file was overwritten"
cp kept ok/a.en
echo more >>ok/archives/a.tgz
refuses 4 'is not what was first downloaded' "$FERRY" fetch ok.corpus ok
rm ok/archives/a.tgz ok/a.en
mv srv/a.tgz srv/first.tgz
python3 - <<'PY'
import gzip
open("srv/a.tgz", "wb").write(gzip.compress(gzip.decompress(open("srv/first.tgz", "rb").read()), 1))
PY
expect 4 "$FERRY" fetch ok.corpus ok "${quick[@]}"
err_has 'is not what was first downloaded'
[ ! -e ok/archives/a.tgz ] || fail "another file took the name"
mv srv/first.tgz srv/a.tgz
expect 0 "$FERRY" fetch ok.corpus ok "${quick[@]}" --no-keep
cmp en ok/a.en || fail "a.en is not there again"
[ ! -e ok/archives/a.tgz ] || fail "--no-keep keeps the archive"
n=$(requests ok)
expect 0 "$FERRY" fetch ok.corpus ok
[ "$(requests ok)" -eq "$n" ] || fail "members alone are not enough"

# Killed in the middle, taken up where it was.
mkdir -p kill/archives
head -c 20000 srv/a.tgz >kill/archives/a.tgz.part
catalogue kill "$(at ok)" >kill.corpus
printf '%s\n%s\n"v1"\n' "$(at ok)" "$(stat -c %s srv/a.tgz)" >kill/archives/a.tgz.part.meta
expect 0 "$FERRY" fetch kill.corpus kill
is_whole kill
grep -q '^/ok/a.tgz bytes=20000-$' srv/log || fail "the part was not taken up"

# A file of the user's is not overwritten; another corpus does not share the directory.
mkdir mine && echo mine >mine/a.en
expect 2 "$FERRY" fetch ok.corpus mine
err_has 'move it away'
[ "$(cat mine/a.en)" = mine ] || fail "a file of the user's was overwritten"
refuses 2 'holds the corpus ok' "$FERRY" fetch many.corpus ok
echo '{' >kill/fetch.json
refuses 4 'not a record of ferry fetch' "$FERRY" fetch kill.corpus kill

# Mistakes.
refuses 2 'which corpus' "$FERRY" fetch
refuses 2 "did you mean 'wmt16-de-en'" "$FERRY" fetch wmt16-en-de y
refuses 2 'debian-de-en alone' "$FERRY" fetch ok.corpus y --german x --english y
refuses 3 'missing.x.corpus' "$FERRY" fetch missing.x.corpus y
echo 'corpus x' >bad.corpus
refuses 4 'no file of it' "$FERRY" fetch bad.corpus y
printf 'corpus x\nfile ../x\n' >bad.corpus
refuses 4 'bad.corpus:2' "$FERRY" fetch bad.corpus y
[ ! -e y ] || fail "a refused command made its directory"

# https: certificates are checked, and it never leads to http.
command -v openssl >/dev/null || skip "the rest needs openssl for a server of its own"
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 \
    -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 2>/dev/null
eval "exec ${COPROC[1]}>&-"
wait "$COPROC_PID" || true
start_server srv cert.pem key.pem
catalogue tls "https://127.0.0.1:$port/ok/a.tgz" >tls.corpus
refuses 3 'certificate' "$FERRY" fetch tls.corpus tls --retries 0
expect 0 "$FERRY" fetch tls.corpus tls --ca cert.pem
is_whole tls
catalogue down "https://127.0.0.1:$port/plain/a.tgz" >down.corpus
refuses 3 'from https to' "$FERRY" fetch down.corpus down --ca cert.pem
