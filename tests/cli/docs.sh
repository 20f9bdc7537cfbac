# The pages: links, exit statuses, and the options of the page for people who come from elsewhere.
expect 0 python3 "$ROOT/tests/cli/docs.py" "$ROOT" "$FERRY"
