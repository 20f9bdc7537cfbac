# A server whose clients are hostile, slow or gone, and whose files change.
expect 0 python3 "$ROOT/tests/cli/serve_hard.py" "$FERRY" "$ROOT/tests/data/model.ferry"
