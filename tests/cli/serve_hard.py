"""usage: serve_hard.py FERRY MODEL: requests that are malformed, huge, slow, many or given
up, and a server that is told to stop, out of room, or whose model files change."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from serving import WAIT, Server, all_of, check, equal, status_of

ferry, model = sys.argv[1:]
TEXT = "the new bridge"
ASK = {"q": TEXT, "source": "en", "target": "de"}
HEAD = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
LONG = (TEXT + " and the old stone sees the small boat\n") * 200
BIG = LONG * 40  # for what must still be under way when something else happens


def until(what, is_so):
    end = time.monotonic() + WAIT
    while not is_so():
        check(what, time.monotonic() < end)
        time.sleep(0.01)


def whole(value):
    body = json.dumps(value).encode()
    return HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def malformed():
    with Server(ferry, model, "body_limit=100000", "connections=1500") as s:
        best = s.post("/translate", ASK).json
        for raw, want in (
                (HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}   ", 400),
                (HEAD + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400),
                (HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
                (HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", 400),
                (HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n", 400),
                (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400),
                (HEAD + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n", 400),
                (HEAD + b"Content-Length: -1\r\n\r\n", 400),
                (HEAD + b"Content-Length: 0x2\r\n\r\n{}", 400),
                (HEAD + b"Content-Length : 2\r\n\r\n{}", 400),
                (HEAD + b"Content-Length: +2\r\n\r\n{}", 400),
                (HEAD + b"Content-Length: 2, 2\r\n\r\n{}", 400),
                (HEAD + b"Content-Length:\r\n 2\r\n\r\n{}", 400),
                (HEAD + b"Content-Length: 1\r\n 0\r\n\r\n{}        ", 400),
                (HEAD + b"X: a\r\n Content-Length: 2\r\n\r\n{}", 400),
                (HEAD + b"Transfer-Encoding: chunked;x=y\r\n\r\n0\r\n\r\n", 400),
                (HEAD + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
                (HEAD + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n", 400),
                (HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n{}\r\n0\r\n\r\n", 400),
                (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n", 400),
                (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n", 400),
                (HEAD + b"Host: other\r\nContent-Length: 2\r\n\r\n{}", 400),
                (b"POST /translate HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 400),
                (HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n{}", 413),
                (b"GET / HTTP/3.0\r\nHost: localhost\r\n\r\n", 505),
                (b"GET /" + b"x" * 40000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
                (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 9000 + b"\r\n", 431),
                (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 40 + b"\r\n\r\n", 0)):
            got = status_of(all_of(s.connect(raw)))
            check(f"{raw[:90]}: {got}, want {want}", got == want or (got == 0 and want in (414, 431)))
        # nothing that follows such a request is taken for one
        for outer in (b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                      b"Content-Length:\r\n 44\r\n\r\n", b"Content-Length: 4\r\n 4\r\n\r\n"):
            smuggled = all_of(s.connect(HEAD + outer + b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"))
            equal(f"answers to a smuggled request behind {outer}", smuggled.count(b"HTTP/1.1 "), 1)
        # two requests in one packet are two answers, in order
        pair = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n" + whole(ASK)
        answers = all_of(s.connect(pair))
        check("a pipeline", answers.count(b"HTTP/1.1 200") == 2 and answers.index(b'"ok"') <
              answers.index(b"translatedText"))
        chunked = HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        for byte in json.dumps(ASK).encode():
            chunked += b"1\r\n%c\r\n" % byte
        check("one byte a chunk", json.dumps(best["translatedText"], ensure_ascii=False).encode() in
              all_of(s.connect(chunked + b"0\r\n\r\n")))
        huge = s.post("/translate", {**ASK, "q": "x" * 200000})
        equal("a huge body", (huge.status, huge.json), (413, {"error": "Content Too Large"}))
        deep = s.ask("POST", "/translate", '{"q":' * 15000, {"Content-Type": "application/json"})
        equal("a deep body", deep.status, 400)
        for bad in (b"q=%", b"q=%zz&source=%", b"&&&===", b"q", b"\xff=\xfe"):
            check("a form", s.ask("POST", "/translate", bad, {
                "Content-Type": "application/x-www-form-urlencoded"}).status in (200, 400))
        nul = s.ask("POST", "/translate", "q=a%00b&source=en&target=de", {
            "Content-Type": "application/x-www-form-urlencoded"})
        equal("a NUL", nul.status, 200)

        # a thousand who say nothing, and one who sends a byte now and then
        idle = [s.connect() for _ in range(1000)]
        before = s.memory()
        equal("beside idle ones", s.post("/translate", ASK).json, best)
        slow = s.connect()
        for byte in whole(ASK)[:200]:
            slow.sendall(bytes([byte]))
        equal("beside a slow one", s.post("/translate", ASK).json, best)
        slow.sendall(whole(ASK)[200:])
        check("the slow one too", b"HTTP/1.1 200" in all_of(slow))
        check("memory of idle connections", s.memory() - before < 64 << 20)
        more = [s.connect(b"G") for _ in range(1500)]  # in a full house the first make room
        equal("in a full house", s.post("/translate", ASK).json, best)
        for c in idle + more:
            c.close()
        until("connections that were closed are let go", lambda: s.metric("ferry_connections") < 10)


def few_descriptors():
    """Where the system gives less than `connections` the house is full before that, and makes room."""
    with open("few", "w") as f:
        f.write('#!/bin/sh\nulimit -n 80\nexec "$0.ferry" "$@"\n')
    os.chmod("few", 0o755)
    os.symlink(ferry, "few.ferry")
    with Server("./few", model) as s:
        idle = [s.connect() for _ in range(200)]
        check("some are left for files", 0 < s.metric("ferry_connections") <= 80 - 32)
        for c in idle:
            c.close()


def given_up():
    with Server(ferry, model, "requests=1", "queue=100", "char_limit=0") as s:
        clients = [s.connect(whole({**ASK, "q": BIG})) for _ in range(8)]
        until("they are there", lambda: s.metric("ferry_requests_in_flight") >= 9)
        for c in clients:
            c.close()
        until("their work is given up", lambda: s.metric("ferry_requests_in_flight") == 1)
        check("some was cancelled", s.metric("ferry_cancelled_total") > 0)
        deaf = socket.socket()
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        deaf.connect(("127.0.0.1", s.port))
        deaf.sendall(whole({**ASK, "q": LONG}))
        equal("beside one who does not read", s.post("/translate", ASK).status, 200)
        deaf.close()
        half = s.connect(whole({**ASK, "q": BIG}))
        half.shutdown(socket.SHUT_WR)
        said = all_of(half)
        # libmicrohttpd may find the end first, and then closes without an answer.
        check(f"who listens still is told why: {said[-200:]}", not said or b"The client closed its side" in said)
    with Server(ferry, model, "deadline=0.000001") as s:
        late = s.post("/translate", {**ASK, "q": LONG})
        equal("late", (late.status, late.headers["Retry-After"]), (503, "1"))
        check("and told so", "longer than this server allows" in late.json["error"])


def departed():
    """Who waits and leaves makes room in the queue, while the one before him is still worked on."""
    with Server(ferry, model, "requests=1", "queue=3", "char_limit=0", "deadline=0") as s:
        busy = s.connect(whole({**ASK, "q": BIG * 3}))
        until("it is under way", lambda: s.metric("ferry_translations_running") == 1)
        clients = [s.connect(whole(ask)) for ask in (ASK, {**ASK, "q": LONG}, ASK)]
        until("they wait", lambda: s.metric("ferry_queue_length") == 3)
        equal("it is full", s.post("/translate", ASK).status, 503)
        for c in clients[:2]:
            c.close()
        until("there is room", lambda: s.metric("ferry_queue_length") == 1)
        check("the first goes on", s.metric("ferry_translations_running") == 1)
        clients.append(s.connect(whole(ASK)))
        until("for another", lambda: s.metric("ferry_queue_length") == 2)
        busy.close()
        equal("and both are answered", [status_of(all_of(c)) for c in clients[2:]], [200, 200])


def padded():
    """What a request has beside its texts does not wait with it; it may be fifty times as large in memory."""
    pad = [[]] * 690000
    body = json.dumps({**ASK, "pad": pad}, separators=(",", ":")).encode()
    with Server(ferry, model, "requests=1", "queue=100", "char_limit=0", "deadline=0") as s:
        busy = s.connect(whole({**ASK, "q": BIG * 3}))
        until("it is under way", lambda: s.metric("ferry_translations_running") == 1)
        before = s.memory()
        clients = [s.connect(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body) for _ in range(10)]
        until("they wait", lambda: s.metric("ferry_queue_length") == 10)
        grown = s.memory() - before
        check(f"{grown >> 20} MiB for ten that wait", grown < 400 << 20)
        for c in [busy, *clients]:
            c.close()


def crowded():
    """A full queue refuses; nobody is lost or mixed up."""
    texts = [f"{TEXT} {i} " + "the old stone " * (i % 7) for i in range(40)]
    with Server(ferry, model) as s:
        want = [s.post("/translate", {**ASK, "q": t}).json for t in texts]
        got = [None] * 400

        def ask(i):
            got[i] = s.post("/translate", {**ASK, "q": texts[i % 40]})

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(400)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for i, answer in enumerate(got):
            if answer.status != 503:
                equal(f"client {i}", answer.json, want[i % 40])
    with Server(ferry, model, "requests=1", "queue=2", "deadline=0") as s:
        clients = [s.connect(whole({**ASK, "q": LONG})) for _ in range(60)]
        answers = [all_of(c) for c in clients]
        full = [a for a in answers if a.startswith(b"HTTP/1.1 503")]
        check("a full queue refuses", full and all(b"Retry-After: 1" in a for a in full))
        equal("and the others are served", len(full) + sum(a.startswith(b"HTTP/1.1 200") for a in answers), 60)


def stopping():
    """SIGTERM under load: whatever was accepted is answered."""
    with Server(ferry, model, "requests=4", "grace=900", "deadline=0") as s:
        clients = [s.connect(whole({**ASK, "q": LONG})) for _ in range(20)]
        idle = [s.connect() for _ in range(20)]
        until("they are accepted", lambda: s.metric("ferry_requests_in_flight") - 1 +
              s.metric('ferry_requests_total{path="/translate",status="200"}') >= 20)
        s.process.send_signal(signal.SIGTERM)
        for c in clients:
            equal("answered after SIGTERM", status_of(all_of(c)), 200)
        for c in idle:
            equal("idle ones are closed", all_of(c), b"")
        equal("and it ends well", s.process.wait(WAIT), 0)
        try:
            s.connect()
            check("nobody listens any more", False)
        except ConnectionError:
            pass
    with Server(ferry, model, "grace=0", "requests=1", "char_limit=0") as s:
        clients = [s.connect(whole({**ASK, "q": BIG})) for _ in range(5)]
        until("they are accepted", lambda: s.metric("ferry_requests_in_flight") >= 6)
        s.process.send_signal(signal.SIGTERM)
        check("without grace it ends too", s.process.wait(WAIT) in (0, 9))
        for c in clients:
            check("and tells them", status_of(all_of(c)) in (200, 503))
        s.process.returncode = 0
    with Server(ferry, model) as s:  # killed, and started again on the same port
        port = s.port
        busy = s.connect(whole({**ASK, "q": LONG}))
        s.process.kill()
        s.process.wait(WAIT)
        s.process.returncode = 0
        all_of(busy)
        with Server(ferry, model, f"port={port}") as again:
            equal("after a kill", again.post("/translate", ASK).status, 200)


def reloading():
    shutil.copy(model, "live.ferry")
    with open(model, "rb") as f:
        good = f.read()

    def put(data):
        with open("next.tmp", "wb") as f:
            f.write(data)
        os.rename("next.tmp", "live.ferry")

    with Server(ferry, "live.ferry", "reload=0.05") as s:
        best = s.post("/translate", ASK).json
        busy = s.connect(whole({**ASK, "q": LONG}))
        put(good)
        s.wait_said("live.ferry was replaced and is loaded")
        check("one under way ends", status_of(all_of(busy)) == 200)
        equal("the new one", s.post("/translate", ASK).json, best)
        equal("loads", s.metric("ferry_model_loads_total"), 2)
        put(good[:len(good) // 2])
        s.wait_said("what was loaded before stays in use: ")
        equal("a damaged one changes nothing", s.post("/translate", ASK).json, best)
        put(good)
        until("a good one is taken again", lambda: s.metric("ferry_model_loads_total") == 3)
        os.truncate("live.ferry", 100)  # under our feet
        equal("a file cut short", s.post("/translate", ASK).json, best)
        os.remove("live.ferry")
        equal("a file that is gone", s.post("/translate", ASK).json, best)


SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[a-z_]+="[^"\\\n]*"(?:,[a-z_]+="[^"\\\n]*")*\})? (\d+(?:\.\d+)?(?:e[+-]\d+)?)')


def prometheus(text):
    """The samples of Prometheus' text format by name and labels, if all of it is that."""
    kinds, samples = {}, {}
    check("its last line ends", text.endswith("\n"))
    for line in text.splitlines():
        if line.startswith("#"):
            _, what, name, more = line.split(" ", 3)
            check(f"said once, before its samples: {line}", (what == "HELP" and name not in kinds) or
                  (what == "TYPE" and kinds[name] == "" and more in ("counter", "gauge", "histogram")))
            kinds[name] = more if what == "TYPE" else ""
            continue
        match = SAMPLE.fullmatch(line)
        check(f"a sample: {line}", match and (match[1] + (match[2] or "")) not in samples)
        family = match[1] if match[1] in kinds else re.sub("_(bucket|sum|count)$", "", match[1])
        check(f"of a type: {line}", kinds[family] == "histogram" if family != match[1] else kinds[family])
        samples[match[1] + (match[2] or "")] = float(match[3])
    return samples


def counted():
    """Requests stand in the metrics with the status that they were answered with, and what it took to answer them."""
    with Server(ferry, model, "beam=1") as s:
        none = prometheus(s.get("/metrics").body)
        for _ in range(3):
            s.post("/translate", {**ASK, "q": [TEXT, TEXT]})
        some = prometheus(s.get("/metrics").body)
        equal("the same names", sorted(n for n in some if "requests_total" not in n),
              sorted(n for n in none if "requests_total" not in n))
        grown = {name: some[f"ferry_{name}_total"] - none[f"ferry_{name}_total"] for name in (
            "texts", "lines", "sentences", "source_characters", "target_tokens", "batch_steps")}
        tokens, steps = grown.pop("target_tokens"), grown.pop("batch_steps")
        equal("what was asked", grown, {"texts": 6, "lines": 6, "sentences": 6, "source_characters": 6 * len(TEXT)})
        check(f"{tokens} tokens in {steps} steps of batches", 0 < steps <= tokens <= steps * some["ferry_batch_slots"])
        equal("nothing is left in them", (some["ferry_sentences_in_flight"], some["ferry_sentences_waiting"]), (0, 0))
        memory = some["process_resident_memory_bytes"]
        check(f"{memory} bytes of memory", s.memory() / 2 < memory < s.memory() * 2)
        name = "ferry_translation_seconds"
        buckets = [some[n] for n in some if n.startswith(name + "_bucket")]
        limits = [float(n.split('"')[1]) for n in some if n.startswith(name + "_bucket")]
        check(f"limits {limits}", limits == sorted(set(limits)) and limits[-1] == float("inf"))
        check(f"buckets {buckets} add up", buckets == sorted(buckets) and buckets[-1] == some[name + "_count"] == 3)
        lowest = sum(low * (b - a) for low, a, b in zip([0.0] + limits, [0.0] + buckets, buckets))
        check(f"{some[name + '_sum']} seconds fit the buckets", some[name + "_sum"] > lowest - 1e-5)
    with Server(ferry, model) as s:
        equal("what a browser asks first", s.ask("OPTIONS", "/translate").status, 204)
        equal("is counted so", [s.metric('ferry_requests_total{path="other",status="%d"}' % n)
                                for n in (204, 500)], [1, 0])


def unread():
    """An access log that goes to a pipe keeps nobody waiting."""
    words = [ferry, "serve", model, "port=0", "access_log=-"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, bufsize=0) as p:
        line = b""
        while not line.startswith(b"http://"):
            line = p.stdout.readline()
        c = http.client.HTTPConnection("127.0.0.1", int(line.rsplit(b":", 1)[1].rstrip(b"/\n")), timeout=WAIT)
        for _ in range(1500):  # three times what a pipe holds
            c.request("GET", "/" + "x" * 120)
            equal("while nobody reads the log", bool(c.getresponse().read()), True)
        c.request("GET", "/metrics")
        check("what it did not take is counted", b"\nferry_access_log_lost_total 0\n" not in c.getresponse().read())
        p.send_signal(signal.SIGTERM)
        equal("and it ends well", p.wait(WAIT), 0)


def keys():
    with open("keys.txt", "w") as f:
        f.write("# name of it\nfree\nthree 3\nsmall 100 60\n")
    with Server(ferry, model, "keys=keys.txt") as s:
        equal("settings", s.get("/frontend/settings").json["keyRequired"], True)
        none = s.post("/translate", ASK)
        equal("no key", (none.status, none.json["error"]),
              (400, "Please contact the server operator to get an API key"))
        wrong = s.post("/translate", {**ASK, "api_key": "fre"})
        equal("a wrong key", (wrong.status, wrong.json), (403, {"error": "Invalid API key"}))
        equal("a key", s.post("/translate", {**ASK, "api_key": "free"}).status, 200)
        equal("a key in a form", s.form("/translate", **ASK, api_key="free").status, 200)
        equal("a key as a header", s.post("/v1/translate", {"text": TEXT, "target": "de"},
                                          Authorization="Bearer free").status, 200)
        got = [s.post("/translate", {**ASK, "api_key": "three"}) for _ in range(5)]
        equal("three a minute", [a.status for a in got[:4]], [200, 200, 200, 429])
        equal("slow down", got[3].json, {"error": "Slowdown: 3 per 1 minute"})
        check("and when to come back", 0 < int(got[3].headers["Retry-After"]) <= 20)
        equal("sixty characters a minute", [s.post("/translate", {**ASK, "q": "x" * 50, "api_key": "small"}).status
                                            for _ in range(2)], [200, 429])
        equal("/languages needs none", s.get("/languages").status, 200)
    with Server(ferry, model, "keys=keys.txt", "per_minute=2", "--anonymous", "metrics_token=secret",
                "access_log=log.txt") as s:
        equal("by address", [s.post("/translate", ASK).status for _ in range(3)], [200, 200, 429])
        equal("a key has its own", s.post("/translate", {**ASK, "api_key": "free"}).status, 200)
        equal("metrics", (s.get("/metrics").status, s.get("/metrics", Authorization="Bearer secret").status), (401, 200))
        s.get("/a%0Ab%1B")
        equal("a long method", s.ask("X" * 2000, "/").status, 404)
    with open("log.txt") as f:
        lines = f.read().splitlines()
    equal("lines of the log", len(lines), 8)
    check("a method is cut like a path", len(lines.pop()) < 512)
    check("a line", lines[0].split()[1:5] == ["127.0.0.1", "POST", "/translate", "200"])
    check("control characters are spelled", "\x1b" not in lines[-1] and lines[-1].count(" 404 ") == 1)
    if os.path.exists("/dev/full"):
        with Server(ferry, model, "access_log=/dev/full", "page=false", "metrics=true") as s:
            equal("a full disk", s.post("/translate", ASK).status, 200)
            until("is counted", lambda: s.metric("ferry_access_log_lost_total") > 0)
            equal("no page", s.get("/").status, 404)


for part in (malformed, few_descriptors, given_up, departed, padded, crowded, stopping, reloading, counted, unread, keys):
    part()
