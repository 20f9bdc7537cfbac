# `ferry score` prints what sacreBLEU prints.
"$PYTHON" -c 'import sacrebleu' 2>/dev/null || skip "sacrebleu is not installed"
expect 0 "$PYTHON" "$ROOT/tests/interop/sacrebleu.py" "$FERRY"
