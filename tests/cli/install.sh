# Installed under a prefix of the user and into a package's root, the program works from any folder
# with an empty home; manual pages and completions come from its tables; removing leaves nothing.
build=$(dirname "$FERRY")
[ -e "$build/pages/made" ] || "$ROOT/tools/make-pages" "$FERRY" "$build/pages" ../share/ferry/configs
export HOME=$WORK/home BUILD=$build
mkdir -m 700 "$HOME" "$HOME/.local"
mkdir "$HOME/.local/share" # was there before: it stays

expect 0 "$ROOT/tools/install" "$HOME/.local"
out_has "export PATH="
[ "$(stat -c %a "$HOME/.local")" = 700 ] || fail "permissions of a folder that was there changed"
installed=$HOME/.local
[ ! -e "$installed/share/ferry/configs/devices" ] || fail "descriptions are inside the program"

# ---- the program, by a link from elsewhere too, with nothing in the home
mkdir elsewhere bin
ln -s "$installed/bin/ferry" bin/ferry
cd elsewhere
for program in "$installed/bin/ferry" "$WORK/bin/ferry"; do
    expect 0 "$program" version
    out_has "configs base, big, demo, small in $installed/share/ferry/configs"
    expect 0 "$program" plan base --device V100 --network 10Gb
    refuses 2 "there are base, big, demo, small in $installed/share/ferry/configs" "$program" train smal
    refuses 2 "data is not set" "$program" train small
done
refuses 3 "nosuch.yaml: " "$installed/bin/ferry" train nosuch.yaml # a path is a path
echo 'no_such: 17' >small
refuses 2 "no_such" "$installed/bin/ferry" train small data=x run=y # a file that is here comes first
rm small
mkdir small
refuses 2 "data is not set" "$installed/bin/ferry" train small # a folder is none
cd "$WORK"

# In the source tree, where the build directory is inside it.
case $FERRY in "$ROOT"/build/*)
    refuses 2 "there are base, big, demo, small in $ROOT/configs" "$FERRY" train smal ;;
esac
cp "$FERRY" alone
refuses 2 "no configurations are installed" ./alone train smal
mkdir configs && cp "$ROOT/configs/demo.yaml" configs/mine.yaml
refuses 2 "there are mine in configs" ./alone train smal
refuses 2 "data is not set" ./alone train mine

# ---- moved elsewhere, it finds its own
cp -r "$installed" moved
expect 0 moved/bin/ferry version
out_has "in $WORK/moved/share/ferry/configs"

# ---- manual pages: one for each command, that the formatters accept
commands=$("$FERRY" help --table | awk -F '\t' '$1 == "command" { print $2 }')
n=0
for command in '' $commands; do
    page=$installed/share/man/man1/ferry${command:+-$command}.1
    [ -s "$page" ] || fail "no $page"
    n=$((n + 1))
    if command -v mandoc >/dev/null; then
        expect 0 mandoc -Tlint -W warning "$page"
        expect 0 mandoc -Tutf8 "$page"
        [ ! -s .err ] || fail "mandoc has something to say"
    fi
    if command -v man >/dev/null; then
        MANROFFSEQ='' expect 0 man --warnings -E UTF-8 -l "$page"
        [ ! -s .err ] || fail "man has something to say about $page"
    fi
done
[ "$n" -eq "$(ls "$installed/share/man/man1" | wc -l)" ] || fail "other pages than commands"
options=$("$FERRY" help --table | awk -F '\t' '$1 == "option" && $2 == "train" { print $3 }')
[ "$(grep -c '^\.TP' "$installed/share/man/man1/ferry-train.1")" -eq "$(wc -l <<<"$options")" ] ||
    fail "ferry-train(1) lacks options"
grep -q '^\.TH .* "Ferry [0-9]*\.[0-9]*\.[0-9]*"' "$installed/share/man/man1/ferry.1" || fail "no version"
if command -v man >/dev/null; then
    MANPATH=$installed/share/man expect 0 man ferry-train
    out_has "max_steps=N"
fi

# ---- completions, as a person types
mkdir typed && cd typed
mkdir folder && : >model.ferry
expect 0 python3 "$ROOT/tests/cli/complete.py" bash "$installed/share/bash-completion/completions/ferry" \
    "$installed/bin"
! command -v zsh >/dev/null ||
    expect 0 python3 "$ROOT/tests/cli/complete.py" zsh "$installed/share/zsh/site-functions/_ferry" "$installed/bin"
cd "$WORK"

# ---- recipes, which find the program that is in PATH
PATH=$installed/bin:$PATH expect 2 "$installed/share/ferry/recipes/multi30k"
err_has 'name the directory with train.en'
for recipe in backtranslation student tatoeba; do
    [ -x "$installed/share/ferry/recipes/$recipe" ] || fail "no recipe $recipe"
done
[ -e "$installed/share/ferry/recipes/student.yaml" ] || fail "a recipe lacks its configuration"

# ---- documentation and licences
for file in README.md CHANGELOG.md SECURITY.md LICENSE licences.txt docs/tutorial.md docs/images/report.png; do
    cmp -s "$installed/share/doc/ferry/$file" "$ROOT/$file" ||
        cmp -s "$installed/share/doc/ferry/$file" "$ROOT/packaging/$file" || fail "no $file"
done

# ---- Python keeps a compiled module beside the one that is used
module=$(dirname "$(find "$installed/lib" -name __init__.py)")
mkdir "$module/__pycache__"
: >"$module/__pycache__/__init__.cpython-311.pyc"
cmp "$installed/share/doc/ferry/examples/translate.c" "$ROOT/examples/translate.c" || fail "no example"

# ---- again, over itself; then a file of the user's in its folders, and away
expect 0 "$ROOT/tools/install" "$installed"
: >"$installed/share/ferry/configs/mine.yaml"
expect 0 "$ROOT/tools/install" --remove "$installed"
[ "$(cd "$installed" && find . ! -type d)" = ./share/ferry/configs/mine.yaml ] || fail "files were left, or lost"
rm "$installed/share/ferry/configs/mine.yaml"
expect 1 "$ROOT/tools/install" --remove "$installed"
err_has "nothing to remove"

# ---- into the root of a package, with a name that has a blank
expect 0 "$ROOT/tools/install" /usr "$WORK/a root"
[ -x "a root/usr/bin/ferry" ] || fail "not below DESTDIR"
expect 0 "a root/usr/bin/ferry" train small --help
expect 0 "$ROOT/tools/install" --remove /usr "$WORK/a root"
[ -z "$(ls -A 'a root')" ] || fail "something was left below DESTDIR"

# ---- what cannot be put is no success, and what was put before it can be taken away
mkdir half && : >half/lib
expect 1 "$ROOT/tools/install" "$WORK/half"
err_has "tools/install: not all of it is under $WORK/half"
expect 0 "$ROOT/tools/install" --remove "$WORK/half"
[ "$(ls -A half)" = lib ] || fail "half an installation was not removed"
expect 2 "$ROOT/tools/install" not/from/the/root
err_has "PREFIX is 'not/from/the/root'"

# ---- what is missing is named, and not installed
PKG_CONFIG_LIBDIR=/nonexistent expect 1 "$ROOT/tools/install-deps" --say build
err_has "The build needs what Debian calls: "
err_has " libyaml-dev"
out_has "building without what Debian calls: "
