# packaging/nginx/ferry.conf with Debian's nginx, on free ports of the loopback: answers and streams pass, too many
# requests are told to slow down, and a client that leaves takes its work along.
export PATH=$PATH:/usr/sbin
command -v nginx >/dev/null || skip "there is no nginx"
command -v openssl >/dev/null || skip "there is no openssl"
expect 0 openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=translate.example.org -days 2 -keyout key.pem -out cert.pem
expect 0 "$PYTHON" "$ROOT/tests/interop/nginx.py" "$FERRY" "$ROOT/tests/data/model.ferry" \
    "$ROOT/packaging/nginx/ferry.conf"
