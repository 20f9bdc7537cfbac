"""usage: watch_http.py FERRY RUN: what the live server answers, and what it refuses."""
import json
import re
import signal
import socket
import subprocess
import sys

ferry, run = sys.argv[1:]
server = subprocess.Popen([ferry, "watch", run, "--http", "port=0"], stdout=subprocess.PIPE,
                          text=True)
port = int(server.stdout.readline().rsplit(":", 1)[1].rstrip("/\n"))


def ask(head, host=f"localhost:{port}", raw=None):
    with socket.create_connection(("127.0.0.1", port), 30) as s:
        s.sendall(raw or f"{head} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        data = b""
        while part := s.recv(65536):
            data += part
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, head.decode(), body.decode()


def want(status, *arguments, **more):
    got = ask(*arguments, **more)
    if got[0] != status:
        sys.exit(f"{arguments} {more}: {got[0]}, want {status}")
    return got


try:
    status, head, page = want(200, "GET /")
    for line in ("Content-Security-Policy: default-src 'none'; style-src 'sha256-",
                 "X-Content-Type-Options: nosniff", "Refresh: 2", "Cache-Control: no-store"):
        if line not in head:
            sys.exit(f"no '{line}' in {head}")
    if "<script" in page or "</html>" not in page or " style=" in page:
        sys.exit("the page is not as it should be")
    ids = re.findall(r' id="([^"]+)"', page) + re.findall(r' id="([^"]+)"', want(200, "GET /report")[2])
    for link in re.findall(r'href="(?:/report)?#([^"]+)"', page):
        if link not in ids:
            sys.exit(f"a link leads to #{link}, which is nowhere")
    if not re.search(r'<h1>.*<div class="progress"><progress .*class="facts"', page, re.S):
        sys.exit("the progress does not stand above the numbers")
    if "Set-Cookie" in head or "Access-Control" in head:
        sys.exit("the page hands out what it should not")
    if want(200, "HEAD /")[2] or f"Content-Length: {len(page.encode())}" not in head:
        sys.exit("HEAD has a body, or the length is wrong")
    want(200, "GET /?x=1")
    want(200, "GET /report")
    json.loads(want(200, "GET /status.json")[2])
    for host in (f"127.0.0.1:{port}", f"[::1]:{port}", "localhost"):
        want(200, "GET /", host)
    for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "", "127.0.0.1.x"):
        want(403, "GET /", host)
    for path in ("/x", "//", "/../run.jsonl", "/%2e%2e/run.jsonl", "/run.jsonl", "/report/"):
        want(404, f"GET {path}")
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "get"):
        want(405, f"{method} /")
    want(400, "", raw=b"GET / HTTP/1.1\r\n\r\n")
    want(400, "", raw=b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
    want(0, "", raw=b"nonsense\r\n\r\n")  # no HTTP: no answer
    want(505, "", raw=b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n")
    want(431, "", raw=b"GET / HTTP/1.1\r\nX: " + b"x" * 9000)

    # one who takes nothing of a page, and many who send a byte and stall: in a full house
    # the first ones make room, and nobody waits for any of them
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    deaf.connect(("127.0.0.1", port))
    deaf.sendall(b"GET /report HTTP/1.1\r\nHost: localhost\r\n\r\n")
    idle = []
    for _ in range(4):
        for _ in range(50):
            idle.append(socket.create_connection(("127.0.0.1", port)))
            idle[-1].sendall(b"G")
        want(200, "GET /report")
    n_open = 0
    for s in idle:
        s.setblocking(False)
        try:
            s.recv(1)
        except BlockingIOError:
            n_open += 1
        except ConnectionError:
            pass
    if n_open > 64:
        sys.exit(f"{n_open} stalled connections are kept, in a house of 64")
    for s in idle + [deaf]:
        s.close()
finally:
    server.send_signal(signal.SIGTERM)
if server.wait(30) != 0:
    sys.exit(f"status {server.returncode}")
