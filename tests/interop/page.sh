# The page of ferry serve in a real browser: typed into, clicked and read; pictures of it are left
# in build/page.
command -v chromium >/dev/null || skip "there is no chromium"
expect 0 "$PYTHON" "$ROOT/tests/interop/page.py" "$FERRY" "$ROOT/tests/data/model.ferry" "$ROOT/build/page"
"$PYTHON" -c 'import axe_core_python' 2>/dev/null || skip "there is no axe-core: the page was used, its accessibility was not looked at by it"
