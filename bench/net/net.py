#!/usr/bin/env python3
"""The step over a network: with overlap and compression, without, and without a network.

Two hosts of namespaces (tests/net/netlab), one rank of one thread each. For every model and
rate: `alone` is the same step with the exchange skipped (both hosts train by themselves at
the same time, so that cores and memory are as busy); `plain` sends fp32 in one piece when
backward is done; `ours` is the default, bf16 in buckets while backward runs; `torch` is
PyTorch's DistributedDataParallel over gloo. Beside them what the alpha-beta model predicts
from `alone`, the bytes and the rate. Seconds are medians of the steps after the first two.

usage: net.py FERRY [--sizes small,base] [--rates 1gbit,100mbit] [--tokens 2048] [--steps 6]
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAB = ROOT / "tests/net/netlab"
HEADERS = 1448 / 1514  # payload of a full frame, as tbf counts it
ALPHA = 0.5e-3  # seconds a message between two namespaces
MODES = {"plain": ["wire=fp32", "bucket_mib=4096"], "ours": []}


def lab(*words, **options):
    return subprocess.run([LAB, *map(str, words)], check=True, **options)


def bits(rate):
    number, unit = re.fullmatch(r"(\d+)([gm])bit", rate).groups()
    return int(number) * {"g": 1e9, "m": 1e6}[unit]


class Bench:
    def __init__(self, ferry, options):
        self.ferry, self.o = ferry, options
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="ferry-net-"))
        self.python = os.environ.get("PYTHON", sys.executable)

    def prepare(self):
        run = lambda *words: subprocess.run([self.ferry, *words], check=True, cwd=self.work,
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        run("sample", "text")
        text = self.work / "text"
        train = sorted(text.glob("train.*"))
        run("prepare", f"source={train[1]}", f"target={train[0]}", "out=data", "vocab_size=2000")

    def train_words(self, size, name, tokens, extra):
        vocabulary = {"base": 32768, "small": 8192}[size]
        return ["train", str(ROOT / f"configs/{size}.yaml"), f"data={self.work}/data", f"run={self.work}/{name}",
                f"vocab_size={vocabulary}", f"batch_tokens={tokens}", "batch_sentences=0", "threads=1", "pin=true",
                f"max_steps={self.o.steps + 2}", "eval_every=0", "save_every=0", "eval_bleu=false", "log_every=1",
                "max_length=100", "moving_average=0", *extra]

    def steps(self, name):
        """Median seconds of a step, the part of it that waited, and the parameters."""
        times, waits, parameters = [], [], 0
        for line in open(self.work / name / "run.jsonl"):
            event = json.loads(line)
            parameters = event.get("parameters", parameters)
            if event["event"] == "step" and event["step"] > 2:
                times.append(event["t_step"])
                waits.append(event.get("t_comm", 0))
        shutil.rmtree(self.work / name)
        return statistics.median(times), statistics.median(waits), parameters

    def alone(self, size):
        ranks = []
        for k in (1, 2):
            words = self.train_words(size, f"alone{k}", self.o.tokens, [f"seed={k}"])
            ranks.append(subprocess.Popen([LAB, "exec", f"n{k}", "taskset", "-c", str(k - 1), self.ferry, *words],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        if any([r.wait() for r in ranks]):
            raise RuntimeError("training alone failed")
        pair = [self.steps(f"alone{k}") for k in (1, 2)]
        return max(p[0] for p in pair), pair[0][2]

    def together(self, size, mode):
        words = self.train_words(size, mode, 2 * self.o.tokens, MODES[mode])
        lab("head", self.ferry, "launch", "-H", "n1:1,n2:1", f"agent={LAB.parent}/rsh", "interface=eth0",
            "bind=false", "restarts=0", "--", *words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self.steps(mode)

    def torch(self, size):
        env = dict(os.environ, MASTER_ADDR="10.77.0.1", MASTER_PORT="29500", WORLD_SIZE="2",
                   GLOO_SOCKET_IFNAME="eth0", OMP_NUM_THREADS="1")
        ranks = []
        for k in (1, 2):
            words = [self.python, ROOT / "bench/peers/torch_ddp.py", "--size", size, "--tokens", str(self.o.tokens),
                     "--steps", str(self.o.steps)]
            ranks.append(subprocess.Popen([LAB, "exec", f"n{k}", "taskset", "-c", str(k - 1), *words], text=True,
                                          env=dict(env, RANK=str(k - 1)), stdout=subprocess.PIPE,
                                          stderr=subprocess.DEVNULL))
        texts = [r.communicate()[0] for r in ranks]
        if any(r.returncode for r in ranks):
            return None
        return json.loads(texts[0].strip().splitlines()[-1])["s_per_step"]


def predict(mode, alone, parameters, embedding, rate):
    """Seconds of a step: compute, and what of the exchange backward does not hide."""
    width = 4 if mode == "plain" else 2
    speed = rate / 8 * HEADERS
    exchange = parameters * width / speed + 2 * ALPHA
    if mode == "plain":
        return alone + exchange
    last = embedding * width / speed  # complete only when backward is
    return alone + max(last, exchange - 2 / 3 * alone)


def report(size, rate, alone, parameters, results):
    d, v = {"base": (512, 32768), "small": (256, 8192)}[size]
    for mode, (seconds, waited, _) in results.items():
        guess = predict(mode, alone, parameters, d * v, bits(rate))
        print(f"{size:6} {rate:8} {mode:6} {seconds:8.3f} s  predicted {guess:8.3f}  waits {waited:7.3f}  "
              f"{seconds / alone:5.2f} x alone", flush=True)


def measure(bench, size, rate):
    lab("rate", "all", rate)
    alone, parameters = bench.alone(size)
    print(f"{size:6} {rate:8} alone  {alone:8.3f} s", flush=True)
    results = {mode: bench.together(size, mode) for mode in MODES}
    report(size, rate, alone, parameters, results)
    torch = bench.torch(size)
    if torch is None:
        print(f"{size:6} {rate:8} torch  left out: no PyTorch at {bench.python}; set PYTHON", flush=True)
    else:
        print(f"{size:6} {rate:8} torch  {torch:8.3f} s  {torch / results['ours'][0]:.2f} x ours", flush=True)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("ferry", type=lambda p: str(pathlib.Path(p).resolve()))
    a.add_argument("--sizes", default="small,base")
    a.add_argument("--rates", default="1gbit,100mbit")
    a.add_argument("--tokens", type=int, default=2048)
    a.add_argument("--steps", type=int, default=6)
    o = a.parse_args()
    if os.getuid() != 0:
        sys.exit("bench/net: hosts of namespaces need root")
    os.environ["NETLAB"] = f"b{os.getpid()}"
    bench = Bench(o.ferry, o)
    lab("up", 2)
    try:
        bench.prepare()
        for size in o.sizes.split(","):
            for rate in o.rates.split(","):
                measure(bench, size, rate)
    finally:
        subprocess.run([LAB, "down"])
        shutil.rmtree(bench.work, ignore_errors=True)


main()
