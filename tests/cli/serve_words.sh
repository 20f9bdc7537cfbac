# Which characters of a text became which of its translation, and what else could follow a beginning.
expect 0 python3 "$ROOT/tests/cli/serve_words.py" "$FERRY" "$ROOT/tests/data/model.ferry"
