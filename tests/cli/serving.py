"""A server of `ferry serve` for tests, and clients of it; standard library alone."""
import http.client
import json
import os
import signal
import socket
import subprocess
import threading
import urllib.parse

WAIT = 120  # seconds until something that must happen has not; nothing is timed


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Server:
    """`ferry serve MODELS... OPTIONS...` on a free port, until the with block ends."""

    def __init__(self, ferry, *words):
        self.process = subprocess.Popen([ferry, "serve", "port=0", *words], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.said = []
        self.changed = threading.Condition()
        self.port = 0
        for line in self.process.stdout:
            self.said.append(line.rstrip("\n"))
            if line.startswith("http://"):
                self.port = int(line.rsplit(":", 1)[1].rstrip("/\n"))
                break
        else:
            raise SystemExit(f"the server did not start: {self.process.stderr.read()}")
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.process.stdout:
            with self.changed:
                self.said.append(line.rstrip("\n"))
                self.changed.notify_all()

    def wait_said(self, text):
        with self.changed:
            if not self.changed.wait_for(lambda: any(text in line for line in self.said), WAIT):
                raise SystemExit(f"the server did not say '{text}': {self.said}")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if self.process.poll() is None:
            self.stop()
        if kind is None and self.process.returncode != 0:
            raise SystemExit(f"the server ended with {self.process.returncode}: "
                             f"{self.process.stderr.read()}")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(WAIT)

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        try:
            connection.request(method, path, body, headers or {})
            r = connection.getresponse()
            return Answer(r.status, r.headers, r.read().decode())
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, headers=headers)

    def post(self, path, value, **headers):
        return self.ask("POST", path, json.dumps(value),
                        {"Content-Type": "application/json", **headers})

    def form(self, path, **values):
        return self.ask("POST", path, urllib.parse.urlencode(values),
                        {"Content-Type": "application/x-www-form-urlencoded"})

    def connect(self, data=b""):
        s = socket.create_connection(("127.0.0.1", self.port), WAIT)
        s.sendall(data)
        return s

    def metric(self, name):
        for line in self.get("/metrics").body.splitlines():
            if line.rsplit(" ", 1)[0] == name:
                return float(line.rsplit(" ", 1)[1])
        return 0.0

    def memory(self):
        with open(f"/proc/{self.process.pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def all_of(s):
    """Everything that comes from a socket until it ends."""
    data = b""
    try:
        while part := s.recv(65536):
            data += part
    except ConnectionError:
        pass
    s.close()
    return data


def status_of(data):
    return int(data.split()[1]) if data.startswith(b"HTTP/") else 0


def check(what, is_good):
    if not is_good:
        raise SystemExit(f"FAILED: {what}")


def equal(what, got, want):
    check(f"{what}: {got!r}, want {want!r}", got == want)
