# Terms of glossaries in everything that a server says.
expect 0 python3 "$ROOT/tests/cli/serve_glossary.py" "$FERRY" "$ROOT/tests/data/model.ferry"
