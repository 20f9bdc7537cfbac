# The client library of LibreTranslate works with `ferry serve`.
"$PYTHON" -c 'import libretranslatepy' 2>/dev/null || skip "libretranslatepy is not installed"
expect 0 "$PYTHON" "$ROOT/tests/interop/libretranslate_client.py" "$FERRY" "$ROOT/tests/data/model.ferry"
