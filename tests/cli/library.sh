# The library as it is installed: the C example built by pkg-config and by CMake in a fresh folder,
# static and shared, and the Python module; all of them say what the program says.
build=$(dirname "$FERRY")
[ -e "$build/libferry.so.0" ] && [ -e "$build/libferry.a" ] || skip "the library was not built"
command -v pkg-config >/dev/null || skip "there is no pkg-config"
expect 0 cmake --install "$build" --component library --prefix "$WORK/stage"
lib=$(dirname "$(find "$WORK/stage" -name libferry.so.0)")
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
model=$ROOT/tests/data/model.ferry
printf '%s\n' 'die ferry 3' 'we wait for the river' '' >in
expect 0 "$FERRY" translate "$model" in
cp .out want

# shellcheck disable=SC2046
expect 0 ${CC:-cc} -Wall -Werror "$ROOT/examples/translate.c" -o shared $(pkg-config --cflags --libs ferry)
given "$(cat in)"$'\n\n'
expect 0 ./shared "$model"
cmp .out want || fail "the example translates otherwise than the program"
expect 3 ./shared no-such-model
err_has 'no-such-model: no such'
# shellcheck disable=SC2046
expect 0 ${CC:-cc} "$ROOT/examples/translate.c" -o own $(pkg-config --cflags --libs ferry) -Wl,-rpath,"$lib"
given "$(cat in)"$'\n\n'
expect 0 env -u LD_LIBRARY_PATH ./own "$model"
cmp .out want || fail "the example translates otherwise by the path that it was linked with"
readelf -d shared | grep -q 'NEEDED.*libferry.so.0' || fail "the example does not need libferry.so.0"
for other in mpi cuda curl OpenCL; do
    ! ldd "$lib"/libferry.so.0 | grep -qi "$other" || fail "the library needs $other to load"
done

# shellcheck disable=SC2046
expect 0 ${CC:-cc} "$ROOT/examples/translate.c" -o static $(pkg-config --cflags ferry) "$lib"/libferry.a \
    $(pkg-config --libs --static ferry | sed 's/-lferry//')
given "$(cat in)"$'\n\n'
expect 0 ./static "$model"
cmp .out want || fail "the static library translates otherwise"

mkdir project
cat >project/CMakeLists.txt <<'TXT'
cmake_minimum_required(VERSION 3.16)
project(example C)
find_package(ferry 0.2 REQUIRED)
add_executable(example ${SOURCE})
target_link_libraries(example ferry::ferry)
TXT
expect 0 cmake -S project -B made -DCMAKE_PREFIX_PATH="$WORK/stage" -DSOURCE="$ROOT/examples/translate.c"
expect 0 cmake --build made
given "$(cat in)"$'\n\n'
expect 0 made/example "$model"
cmp .out want || fail "the program that CMake built translates otherwise"

command -v python3 >/dev/null || skip "there is no python3"
cat >use.py <<'PY'
import sys, threading, ferry
lines = open("in", encoding="utf-8").read().splitlines()
with ferry.Model(sys.argv[1], threads=2) as model:
    want = [t[0].text for t in model.translate_many(lines)]
    for line in want:
        print(line)
    best = model.translate_many(lines, nbest=2, alignments=True)
    assert [t[0].text for t in best] == want and best[0][0].score >= best[0][1].score
    assert model.translate(lines[1]).text == want[1]
    assert model.score(lines[:1], want[:1])[0][0] < 0
    threads = [threading.Thread(target=lambda: model.translate_many(lines)) for _ in range(8)]
    [t.start() for t in threads], [t.join() for t in threads]
    stop = ferry.Cancel()
    stop.cancel()
    for wrong, status in (({"beam": 0}, 2), ({"cancel": stop}, ferry.CANCELLED)):
        try:
            model.translate("a", **wrong)
            raise SystemExit("not refused: %s" % wrong)
        except ferry.Error as error:
            assert error.status == status and str(error), error
try:
    model.translate("a")
    raise SystemExit("a closed model translates")
except ValueError:
    pass
PY
module=$(dirname "$(find stage -name __init__.py)")
[ -e "$module/py.typed" ] || fail "type checkers do not look at a module without py.typed"
PYTHONPATH=$WORK/$(dirname "$module") FERRY_LIBRARY=$lib/libferry.so.0 expect 0 python3 use.py "$model"
cmp .out want || fail "the Python module translates otherwise"
unset LD_LIBRARY_PATH # it finds the library of its own installation, wherever that is
mv stage moved
PYTHONPATH=$WORK/moved/${module#stage/}/.. expect 0 python3 use.py "$model"
cmp .out want || fail "the module that was moved translates otherwise"
# Two folders below the root, as in a container's /app, there is no folder of an installation to look in.
cat >shallow.py <<'PY'
import sys
exec(compile(open(sys.argv[1]).read(), "ferry", "exec"), {"__file__": "/app/ferry/__init__.py", "__name__": "ferry"})
PY
FERRY_LIBRARY=$(find "$WORK/moved" -name libferry.so.0) expect 0 python3 shallow.py "$ROOT/python/ferry/__init__.py"

# Where Python looks by itself: below a user's ~/.local, /usr/local and /usr.
python3 -c 'import site, sys; sys.exit(not site.ENABLE_USER_SITE)' || skip "Python looks at no folder of the user"
export HOME=$WORK/home
mkdir "$HOME"
BUILD=$build expect 0 "$ROOT/tools/install" "$HOME/.local"
expect 0 python3 use.py "$model"
cmp .out want || fail "the module below ~/.local translates otherwise"
expect 0 "$ROOT/tools/install" --remove "$HOME/.local"
expect 1 python3 use.py "$model"
err_has "No module named 'ferry'"
[ -z "$(ls -A "$HOME")" ] || fail "something of the module is left"
for prefix in /usr /usr/local; do
    mkdir root
    DESTDIR=$WORK/root expect 0 cmake --install "$build" --component library --prefix $prefix
    found=$(find root -name __init__.py)
    for python in python3 /usr/bin/python3; do
        command -v $python >/dev/null || continue
        places=$($python -c 'import site; print(*site.getsitepackages(), sep="\n")' | grep "^$prefix/lib/") || continue
        grep -qx "$(dirname "$(dirname "/${found#root/}")")" <<<"$places" || fail "$python does not look at $found"
        break
    done
    rm -r root
done
