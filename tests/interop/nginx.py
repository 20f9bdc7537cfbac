"""usage: nginx.py FERRY MODEL CONF: the server behind nginx with our example of a configuration, of which only ports,
name and certificate (cert.pem and key.pem here) are replaced. The model translates en to de."""
import http.client
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli"))
from serving import WAIT, Server, check, equal

ferry, model, conf = sys.argv[1:]
ASK = {"q": "the new bridge", "source": "en", "target": "de"}
BIG = "the new bridge and the old stone sees the small boat\n" * 2000


def configure(port, behind):
    text = pathlib.Path(conf).read_text(encoding="utf-8")
    for old, new, n in (("127.0.0.1:5000", f"127.0.0.1:{behind}", 1), (r"listen 443", f"listen 127.0.0.1:{port}", 1),
                        (r"listen \[::\]:443.*", "", 1), ("/etc/ssl/certs/translate.pem", "cert.pem", 1),
                        ("/etc/ssl/private/translate.key", "key.pem", 1)):
        text, found = re.subn(old, new, text)
        equal(f"{old} in the example", found, n)
    here = pathlib.Path.cwd()
    temporary = "".join(f"{kind}_temp_path {here}/{kind};\n" for kind in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root;\n" if os.geteuid() == 0 else ""  # else another one, who may not write here
    pathlib.Path("nginx.conf").write_text(f"daemon off;\n{user}pid {here}/pid;\n"
                                          f"error_log {here}/error.log;\nevents {{}}\nhttp {{\naccess_log off;\n"
                                          f"{temporary}{text}}}\n", encoding="utf-8")


def dial(port):
    context = ssl.create_default_context(cafile="cert.pem")
    context.check_hostname = False
    return http.client.HTTPSConnection("127.0.0.1", port, timeout=WAIT, context=context)


def ask(port, method, path, value=None):
    connection = dial(port)
    connection.request(method, path, json.dumps(value) if value else None,
                       {"Content-Type": "application/json", "Host": "translate.example.org"})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


def until(what, is_so):
    end = time.monotonic() + WAIT
    while not is_so():
        check(what, time.monotonic() < end)
        time.sleep(0.05)


def use(server, port):
    best = server.post("/translate", ASK).json
    equal("a translation", json.loads(ask(port, "POST", "/translate", ASK)[1]), best)
    check("the page", "<textarea" in ask(port, "GET", "/")[1])
    check("metrics", "ferry_requests_total" in ask(port, "GET", "/metrics")[1])
    equal("too large a body", ask(port, "POST", "/translate", {**ASK, "q": "x" * 3000000})[0], 413)

    # the first line of a stream is there while the others are still being translated
    connection = dial(port)
    connection.request("POST", "/v1/translate", json.dumps({"text": BIG, "target": "de", "source": "en",
                                                            "stream": True}), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    equal("the stream's first line", answer.readline(), b"event: line\n")
    check("others are under way", server.metric("ferry_translations_running") == 1)
    connection.close()
    until("work of a client that left is given up", lambda: server.metric("ferry_cancelled_total") == 1)

    seen = set()

    def hurry():
        """More at a time than may burst, as often as a busy machine needs to be quick enough."""
        with ThreadPoolExecutor(120) as pool:
            seen.update(pool.map(lambda _: ask(port, "GET", "/health")[0], range(120)))
        return 429 in seen

    until("too many requests", hurry)
    check(f"statuses: {seen}", seen == {200, 429})


def main():
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    with Server(ferry, model, "char_limit=0") as server:
        configure(port, server.port)
        nginx = subprocess.Popen(["nginx", "-p", ".", "-c", "nginx.conf"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        try:
            for _ in range(WAIT * 10):
                check(f"nginx started: {nginx.stderr.read() if nginx.poll() is not None else ''}",
                      nginx.poll() is None)
                try:
                    dial(port).connect()
                    break
                except OSError:
                    time.sleep(0.1)
            use(server, port)
        finally:
            nginx.terminate()
            nginx.wait(WAIT)


main()
