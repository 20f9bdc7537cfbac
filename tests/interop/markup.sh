# Pages and message catalogues of this machine, cut into fragments, through ferry serve: Python's own parser finds
# the same tags in the answers, as well nested. FRAGMENTS=10000 takes some minutes.
expect 0 "$PYTHON" "$ROOT/tests/interop/markup.py" "$FERRY" "$ROOT/tests/data/model.ferry" "${FRAGMENTS:-1000}" \
    /usr/share "$HOME"
cat .out
