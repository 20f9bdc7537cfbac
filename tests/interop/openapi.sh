# What /v1/openapi.json says of the plain interface is true: schemathesis asks whatever it allows and whatever it
# does not, and a client that a generator makes of it translates.
"$PYTHON" -c 'import openapi_python_client, schemathesis' 2>/dev/null ||
    skip "schemathesis or openapi-python-client is not installed"
expect 0 "$PYTHON" "$ROOT/tests/interop/openapi.py" "$FERRY" "$ROOT/tests/data/model.ferry"
