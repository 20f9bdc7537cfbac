# `ferry score` prints what sacreBLEU prints.
"$PYTHON" -c 'import sacrebleu' 2>/dev/null || exit 77
expect 0 "$PYTHON" "$ROOT/tests/interop/sacrebleu.py" "$FERRY"
