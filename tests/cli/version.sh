# `ferry version` says which commit, features and libraries the program was built with; the
# file that holds the commit depends on the commit alone, and is rewritten only with it.
expect 0 "$FERRY" version
head -n 1 .out | grep -qx "ferry $(sed -n 's/^project(ferry VERSION \([0-9.]*\) .*/\1/p' "$ROOT/CMakeLists.txt")" ||
    fail "another version than CMakeLists.txt has"
for line in 'commit ' 'build ' 'CPU ' 'int8 ' 'CUDA ' 'OpenCL ' 'MPI ' 'downloads ' 'built with '; do
    grep -q "^$line *[^ ]" .out || fail "no line '$line'"
done
for library in SentencePiece protobuf-c zlib liblzma libzstd Jansson utf8proc libyaml libmicrohttpd; do
    grep -qE "$library [0-9]+\.[0-9]" .out || fail "no version of $library"
done
out_has 'cpu     cpu, plain' # found on every machine
! sed '/^found here/q' .out | grep -qF "$ROOT" || fail "a path of the build machine"
cp .out words
expect 0 "$FERRY" --version
cmp -s words .out || fail "--version says something else"
refuses 2 "unexpected argument 'extra'" "$FERRY" version extra

command -v git >/dev/null || skip "no git: what it says of a commit was not tried"
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a \
    GIT_COMMITTER_EMAIL=a GIT_AUTHOR_DATE='2000-01-01T00:00:00Z' GIT_COMMITTER_DATE='2000-01-01T00:00:00Z'
commit_of() { expect 0 cmake -DROOT="$1" -DOUT="$2" -P "$ROOT/cmake/commit.cmake"; }

mkdir clone && git -C clone init -q && echo 1 >clone/file
git -C clone add file && git -C clone commit -qm first
git clone -q clone other
commit_of "$WORK/clone" a.c
commit_of "$WORK/other" b.c
cmp -s a.c b.c || fail "two clones of a commit differ"
grep -q "\"$(git -C clone rev-parse HEAD | cut -c1-12)\"" a.c || fail "not the commit"

touch -d '2000-01-01' a.c
commit_of "$WORK/clone" a.c
[ -z "$(find a.c -newermt '2001-01-01')" ] || fail "written again for the same commit"
echo 2 >clone/file
commit_of "$WORK/clone" a.c
grep -q ', with changes"' a.c || fail "a changed file goes unnoticed"
git -C clone commit -qam second
commit_of "$WORK/clone" a.c
grep -q "\"$(git -C clone rev-parse HEAD | cut -c1-12)\"" a.c || fail "not the new commit"

mkdir -p tarball clone/vendored # neither is a clone of its own
commit_of "$WORK/tarball" a.c
grep -q '"unknown"' a.c || fail "a tarball has no commit"
expect 0 cmake -DROOT="$WORK/tarball" -DOUT=b.c -DCOMMIT=0123456789ab -P "$ROOT/cmake/commit.cmake"
grep -q '"0123456789ab"' b.c || fail "a tarball was told its commit"
commit_of "$WORK/clone/vendored" a.c
grep -q '"unknown"' a.c || fail "the commit of a repository around the source was taken"
