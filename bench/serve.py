#!/usr/bin/env python3
"""`ferry serve` under load beside LibreTranslate, with the same weights on the same machine, in turns.

Each turn translates TEXT offline with `ferry translate`, then lets bench_serve_load ask each server, one line of TEXT
a request, with so many clients for so many seconds; ferry's answers are compared with those of `ferry translate`, and
its memory is looked at all the time. Without --libre ferry is measured alone. LibreTranslate is measured as it comes,
and (libre-2) with ARGOS_INTER_THREADS=2 ARGOS_INTRA_THREADS=1, so that no thread waits for another one.

Medians of all turns, and the bests. Whoever else is busy on the machine takes away more from one program than from
another; so the processor time of an answer counts as well, in brackets: `ferry translate` beside the row in
`of offline`, the row beside ferry in `times`.

usage: serve.py FERRY LOAD MODEL SOURCE TARGET TEXT [--clients 1,8,64,200] [--seconds 10] [--turns 3]
                [--libre PYTHON --ct2 DIR --pieces FILE] [--json FILE]
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
ANSWER = re.compile(r"(?P<clients>\d+) clients: (?P<answers>\d+) answers, (?P<rate>\d+)/s, p50 (?P<p50>[\d.]+) ms, "
                    r"p99 (?P<p99>[\d.]+) ms; (?P<lost>\d+) lost, (?P<wrong>\d+) wrong, (?P<busy>\d+) told")

PEERS = {"libre": [], "libre-2": ["ARGOS_INTER_THREADS=2", "ARGOS_INTRA_THREADS=1"]}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


@contextlib.contextmanager
def served(words, port):
    """A server that listens; it is ended when the block is."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([str(w) for w in words], stdout=said, stderr=said)
        try:
            for _ in range(600):
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                if process.poll() is not None:
                    said.seek(0)
                    raise SystemExit(f"{words[0]} did not start: {said.read().decode()[-2000:]}")
                time.sleep(0.1)
            yield process
        finally:
            process.terminate()
            code = process.wait(60)
        if code not in (0, -signal.SIGTERM):
            said.seek(0)
            raise SystemExit(f"{words[0]} ended with {code}: {said.read().decode()[-2000:]}")


def processor(pid):
    """Seconds that a process has used."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


class Watch(threading.Thread):
    """The memory of a process in MB, every second."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.seen, self.is_over = pid, [], threading.Event()
        self.start()

    def run(self):
        while not self.is_over.wait(1):
            self.seen.append(memory(self.pid))

    def ended(self):
        """At a tenth of the time, when all clients are there, and the most after that."""
        self.is_over.set()
        self.join()
        begin = len(self.seen) // 10
        return (self.seen[begin], max(self.seen[begin:])) if self.seen else (0, 0)


def load(o, process, port, clients, want):
    watch, used = Watch(process.pid), processor(process.pid)
    words = [o.load, port, o.text, o.source, o.target, clients, o.seconds] + ([want] if want else [])
    done = subprocess.run([str(w) for w in words], text=True, stdout=subprocess.PIPE)
    found = {k: float(v) for k, v in ANSWER.match(done.stdout).groupdict().items()}
    if want and done.returncode != 0:
        raise SystemExit(f"answers were lost or wrong: {done.stdout}")
    found["memory_begin"], found["memory_most"] = watch.ended()
    found["cpu_ms"] = (processor(process.pid) - used) * 1e3 / max(found["answers"], 1)
    return found


def offline(o, path):
    """Lines a second without a server; the translations are what answers are compared with."""
    with open(o.text, encoding="utf-8") as text, open(path, "w", encoding="utf-8") as out:
        n = sum(1 for _ in text)
        text.seek(0)
        begin, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([o.ferry, "translate", o.model], stdin=text, stdout=out, stderr=subprocess.DEVNULL, check=True)
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        return {"rate": n / (time.perf_counter() - begin), "cpu_ms": cpu * 1e3 / n}


def turn(o, want):
    found = {"offline": offline(o, want)}
    port = free_port()
    with served([o.ferry, "serve", o.model, f"port={port}", *o.options.split()], port) as process:
        for n in o.clients:
            found[f"ferry {n}"] = load(o, process, port, n, want)
    if not o.libre:
        return found
    for name, threads in PEERS.items():
        port = free_port()
        peer = ["env", *threads, o.libre, HERE / "peers/libretranslate_serve.py", port, o.threads,
                os.path.abspath(o.ct2), os.path.abspath(o.pieces), o.source, o.target]
        with served(peer, port) as process:
            for n in o.clients:
                found[f"{name} {n}"] = load(o, process, port, n, None)
    return found


def show(o, turns):
    def middle(who, what):
        return statistics.median(t[who][what] for t in turns)

    def best(who):
        return max(t[who]["rate"] for t in turns)

    offline = middle("offline", "cpu_ms")
    print(f"offline, `ferry translate`: {middle('offline', 'rate'):.0f} lines/s ({best('offline'):.0f}), "
          f"{offline:.2f} ms of a processor a line")
    print(f"{'server':8} {'clients':>7} {'answers/s (best)':>18} {'p50 ms':>8} {'p99 ms':>8} {'cpu ms':>7} {'lost':>5} "
          f"{'MB':>9} {'of offline':>14} {'times':>13}")
    for who in [k for k in turns[0] if k != "offline"]:
        name, n = who.split()
        rate = f"{middle(who, 'rate'):.0f} ({best(who):.0f})"
        size = f"{turns[-1][who]['memory_begin']:.0f}-{turns[-1][who]['memory_most']:.0f}"
        cpu = middle(who, "cpu_ms")
        share = statistics.median(t[who]["rate"] / t["offline"]["rate"] for t in turns)
        times = statistics.median(t[f"ferry {n}"]["rate"] / max(t[who]["rate"], 1) for t in turns)
        own = middle(f"ferry {n}", "cpu_ms")
        print(f"{name:8} {n:>7} {rate:>18} {middle(who, 'p50'):8.1f} {middle(who, 'p99'):8.1f} {cpu:7.2f} "
              f"{sum(t[who]['lost'] for t in turns):5.0f} {size:>9} "
              f"{f'{share:.2f} ({offline / cpu:.2f})':>14} "
              f"{f'{times:.1f} ({cpu / own:.1f})':>13}")


def main():
    a = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    for name in ("ferry", "load", "model", "source", "target", "text"):
        a.add_argument(name)
    a.add_argument("--clients", default="1,8,64,200")
    a.add_argument("--seconds", type=float, default=10)
    a.add_argument("--turns", type=int, default=3)
    a.add_argument("--options", default="requests=64 queue=1000", help="of ferry serve")
    a.add_argument("--threads", type=int, default=4, help="of LibreTranslate; 4 is its default")
    a.add_argument("--libre", help="a Python that has LibreTranslate")
    a.add_argument("--ct2", help="the same model, for CTranslate2")
    a.add_argument("--pieces", help="its SentencePiece model")
    a.add_argument("--json")
    o = a.parse_args()
    o.clients = [int(n) for n in o.clients.split(",")]
    turns = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(o.turns):
            turns.append(turn(o, os.path.join(folder, "want")))
    show(o, turns)
    print("load of the machine:", *(f"{x:.1f}" for x in os.getloadavg()), "on", os.cpu_count(), "cores")
    if o.json:
        pathlib.Path(o.json).write_text(json.dumps(turns, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
