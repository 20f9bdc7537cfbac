# debian-de-en from Translation files at hand, and through apt from an archive in a directory.
python3 - <<'PY'
import hashlib
def stanza(i, lang, text):
    key = hashlib.md5(b"%d" % i).hexdigest()
    return f"Package: p{i}\nDescription-md5: {key}\nDescription-{lang}: {text}\n\n"
with open("en", "w") as en, open("de", "w") as de:
    for i in range(600):
        en.write(stanza(i, "en", f"title {i}\n First of {i}. Second.\n .\n  * item {i}"))
        de.write(stanza(i, "de", f"Titel {i}\n Erstens {i}. Zweitens.\n .\n  * Punkt {i}"))
PY
gzip -k de

is_made() # DIR: the sets are parallel and share no package
{
    local set n total=0
    for set in train valid test; do
        n=$(wc -l <"$1/$set.en")
        [ "$n" -gt 0 ] && [ "$n" -eq "$(wc -l <"$1/$set.de")" ] || fail "$set is not parallel"
        total=$((total + n))
        grep -ohE '[0-9]+' "$1/$set.en" | sort -u >"$set.packages"
    done
    [ "$total" -eq 1801 ] || fail "$total pairs, want 600 titles, first sentences and items, and one second"
    sort train.packages valid.packages test.packages | uniq -d | grep -q . && fail "a package is in two sets"
    paste "$1/train.en" "$1/train.de" | grep -q '^title \([0-9]*\)	Titel \1$' || fail "titles are not aligned"
    [ ! -e "$1/apt/Translation-de" ] || fail "a copy of the lists is left"
}
expect 0 "$FERRY" fetch debian-de-en hand --english en --german de.gz
out_has '600  in both'
out_has 'source=hand/train.en'
is_made hand
expect 0 "$FERRY" fetch debian-de-en again --english en --german de
for set in train valid test; do cmp hand/$set.de again/$set.de || fail "not the same twice"; done
expect 0 "$FERRY" fetch debian-de-en hand --english en --german de

refuses 2 'both english and german' "$FERRY" fetch debian-de-en x --english en
refuses 2 'mirror is not for' "$FERRY" fetch debian-de-en x --mirror http://h/
refuses 4 'has no descriptions' "$FERRY" fetch debian-de-en y --english en --german en
[ ! -e y/train.en ] || fail "files were made of nothing"
head -n 12 en >few
refuses 4 'more sources are needed' "$FERRY" fetch debian-de-en z --english few --german de
mkdir mine && echo mine >mine/train.en
refuses 2 'was not made by ferry fetch' "$FERRY" fetch debian-de-en mine --english en --german de
expect 2 env PATH=/nowhere "$FERRY" fetch debian-de-en w
err_has 'needs apt-get'

# apt itself, with the languages switched off as container images do.
command -v apt-get >/dev/null || skip "the rest needs apt-get"
i18n=repo/dists/here/main/i18n
mkdir -p $i18n etc/sources.list.d
cp en $i18n/Translation-en
xz <de >$i18n/Translation-de.xz
cp de $i18n/Translation-de
{
    printf 'Suite: here\nCodename: here\nComponents: main\nArchitectures: all\nSHA256:\n'
    cd repo/dists/here
    for f in main/i18n/*; do
        printf ' %s %s %s\n' "$(sha256sum <$f | cut -d' ' -f1)" "$(stat -c %s $f)" $f
    done
    cd - >/dev/null
} >Release
mv Release repo/dists/here/Release
rm $i18n/Translation-de
echo "deb [trusted=yes] file:$WORK/repo here main" >etc/sources.list
cat >apt.conf <<EOF
Acquire::Languages "none";
Dir::Etc::sourcelist "$WORK/etc/sources.list";
Dir::Etc::sourceparts "$WORK/etc/sources.list.d";
APT::Update::Post-Invoke { "touch $WORK/hook"; };
EOF
export APT_CONFIG=$WORK/apt.conf
expect 0 "$FERRY" fetch debian-de-en "with blank/apt"
is_made 'with blank/apt'
cmp hand/train.de 'with blank/apt/train.de' || fail "apt gave another corpus"
[ ! -e hook ] || fail "a hook of the system's ran"
expect 2 "$FERRY" fetch debian-de-en 'with"quote'
err_has 'apt cannot take'
echo "deb [trusted=yes] file:$WORK/nowhere here main" >etc/sources.list
expect 3 "$FERRY" fetch debian-de-en none
err_has 'gave no Translation-en'
