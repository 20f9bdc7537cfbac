#!/usr/bin/env python3
"""The step over a network: with overlap and compression, without, and without a network.

Two hosts of namespaces (tests/net/netlab), one core and one rank of one thread each. For
every model and rate: `alone` is the same step with the exchange skipped (both hosts train by
themselves at the same time, so that cores and memory are as busy; a step takes what the slower
of the two takes, since ranks that exchange wait for each other whatever the network); `plain`
sends fp32 in one piece when backward is done; `ours` is the default, bf16 in buckets while
backward runs; `torch` is PyTorch's DistributedDataParallel over gloo. Beside them what `ferry
plan` predicts from `alone`, the link's rate and the processor time of an exchange (`ferry bench
wire` through loopback), which is all that it is told. Seconds are medians of the steps after the
first two, and of --repeat turns. Every line is also a JSON object in build/net.jsonl.

usage: net.py FERRY [--sizes small,base] [--rates 1gbit,100mbit] [--tokens 2048] [--steps 6]
              [--repeat 3] [--modes plain,ours,torch]
"""
import argparse
import functools
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
VOCABULARY = {"base": 32768, "small": 8192}
# how each is trained, and the same for the planner
MODES = {"plain": (["wire=fp32", "bucket_mib=4096"], ["wire=fp32", "bucket_mib=4096", "overlap=false"]),
         "ours": ([], [])}
# The hosts are of one machine: each gets a core of its own, as `alone` does.
AGENT = """#!/bin/sh
for word; do case $word in n[0-9]*) break ;; esac; done
exec taskset -c $((${word#n} - 1)) %s "$@"
"""


def lab(*words, **options):
    return subprocess.run([LAB, *map(str, words)], check=True, **options)


def as_planned(rate):
    """1gbit of tc is 1Gb of the planner."""
    return re.sub("([gm])bit$", lambda m: m[1].upper() + "b", rate)


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
        self.agent = self.work / "agent"
        self.agent.write_text(AGENT % (LAB.parent / "rsh"))
        self.agent.chmod(0o755)

    def train_words(self, size, name, tokens, extra):
        return ["train", str(ROOT / f"configs/{size}.yaml"), f"data={self.work}/data", f"run={self.work}/{name}",
                f"vocab_size={VOCABULARY[size]}", f"batch_tokens={tokens}", "batch_sentences=0", "threads=1", "pin=true",
                f"max_steps={self.o.steps + 2}", "eval_every=0", "save_every=0", "eval_bleu=false", "log_every=1",
                "max_length=100", "moving_average=0", *extra]

    def entries(self, name):
        """The steps that a run logged, without the first two."""
        with open(self.work / name / "run.jsonl") as lines:
            events = [json.loads(line) for line in lines]
        shutil.rmtree(self.work / name)
        return [e for e in events if e["event"] == "step" and e["step"] > 2]

    def summary(self, entries):
        """Medians of a step: seconds, the part that computed, the part that waited; tokens of a pair's side."""
        median = lambda key: statistics.median(e.get(key) or 0 for e in entries)
        tokens = sum(e["source_tokens"] + e["target_tokens"] for e in entries)
        return dict(seconds=median("t_step"), compute=median("t_compute"), waits=median("t_comm"),
                    length=tokens / sum(e["sentences"] for e in entries) / 2)

    def alone(self, size):
        ranks = []
        for k in (1, 2):
            words = self.train_words(size, f"alone{k}", self.o.tokens, [f"seed={k}"])
            ranks.append(subprocess.Popen([LAB, "exec", f"n{k}", "taskset", "-c", str(k - 1), self.ferry, *words],
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        if any([r.wait() for r in ranks]):
            raise RuntimeError("training alone failed")
        pairs = zip(self.entries("alone1"), self.entries("alone2"))
        return self.summary([max(pair, key=lambda e: e["t_step"]) for pair in pairs])

    def together(self, size, mode):
        words = self.train_words(size, mode, 2 * self.o.tokens, MODES[mode][0])
        lab("head", self.ferry, "launch", "-H", "n1:1,n2:1", f"agent={self.agent}", "interface=eth0",
            "bind=false", "restarts=0", "--", *words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self.summary(self.entries(mode))

    @functools.cache
    def exchange_cpu(self, size, mode):
        """Processor seconds that an exchange takes from a rank, through loopback."""
        words = [self.ferry, "bench", "wire", f"size={size}", "json=true", "steps=3",
                 *(MODES[mode][0] or ["wire=bf16"])]
        text = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "1", "env", "FERRY_NODE=a", *words,
                               ":", "-n", "1", "env", "FERRY_NODE=b", *words],
                              check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return next(line["cpu_seconds"] for line in lines if line["bench"] == "exchange")

    def planned(self, size, rate, mode, alone):
        """What the planner says, from the step alone, the link and the exchange's processor time."""
        words = ["plan", str(ROOT / f"configs/{size}.yaml"), "nodes=2", "link=lab", f"network={as_planned(rate)}",
                 f"compute_seconds={alone['seconds']}", f"vocab_size={VOCABULARY[size]}",
                 f"mean_length={alone['length']}", f"batch={self.o.tokens / alone['length']}",
                 f"exchange_cpu={self.exchange_cpu(size, mode)}",
                 "json=true", "tables=false", *MODES[mode][1]]
        text = subprocess.run([self.ferry, *words], check=True, stdout=subprocess.PIPE, text=True).stdout
        return json.loads(text)["seconds_per_step"]

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
        return {"seconds": json.loads(texts[0].strip().splitlines()[-1])["s_per_step"]}


def note(bench, size, rate, mode, text, **facts):
    print(f"{size:6} {rate:8} {mode:6} {text}", flush=True)
    with open(bench.o.out, "a") as out:
        print(json.dumps(dict(bench="net", size=size, rate=rate, mode=mode, tokens=bench.o.tokens, **facts)), file=out)


def median_of(turns, who):
    """What one way of working gave, each fact as the median over the turns; None if it never ran."""
    got = [turn[who] for turn in turns if turn.get(who)]
    return {fact: statistics.median(g[fact] for g in got) for fact in got[0]} if got else None


def turn(bench, size):
    """Every way once, one after the other, so that a noisy minute hurts all of them."""
    ways = {"alone": bench.alone(size)}
    for mode in bench.o.modes:
        ways[mode] = bench.torch(size) if mode == "torch" else bench.together(size, mode)
    return ways


def measure(bench, size, rate):
    """Ratios of what was measured to what was planned."""
    lab("rate", "all", rate)
    turns = [turn(bench, size) for _ in range(bench.o.repeat)]
    alone = median_of(turns, "alone")
    note(bench, size, rate, "alone", f"{alone['seconds']:8.3f} s", **alone)
    ratios = []
    for mode in [m for m in MODES if m in bench.o.modes]:
        got, plan = median_of(turns, mode), bench.planned(size, rate, mode, alone)
        ratios.append(got["seconds"] / plan)
        note(bench, size, rate, mode, f"{got['seconds']:8.3f} s  planned {plan:8.3f}  measured/planned "
             f"{ratios[-1]:.3f}  computes {got['compute']:7.3f}  waits {got['waits']:7.3f}  "
             f"{got['seconds'] / alone['seconds']:5.2f} x alone", planned=plan, ratio=ratios[-1], **got)
    if "torch" in bench.o.modes:
        torch, ours = median_of(turns, "torch"), median_of(turns, "ours")
        if not torch:
            print(f"{size:6} {rate:8} torch  left out: no PyTorch at {bench.python}; set PYTHON", flush=True)
        else:
            beside = f"  {torch['seconds'] / ours['seconds']:.2f} x ours" if ours else ""
            note(bench, size, rate, "torch", f"{torch['seconds']:8.3f} s{beside}", **torch)
    return ratios


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("ferry", type=lambda p: str(pathlib.Path(p).resolve()))
    a.add_argument("--sizes", default="small,base")
    a.add_argument("--rates", default="1gbit,100mbit")
    a.add_argument("--tokens", type=int, default=2048)
    a.add_argument("--steps", type=int, default=6)
    a.add_argument("--repeat", type=int, default=3)
    a.add_argument("--modes", type=lambda text: text.split(","), default=[*MODES, "torch"])
    a.add_argument("--out", default=ROOT / "build/net.jsonl")
    o = a.parse_args()
    if os.getuid() != 0:
        sys.exit("bench/net: hosts of namespaces need root")
    os.environ["NETLAB"] = f"b{os.getpid()}"
    bench = Bench(o.ferry, o)
    lab("up", 2)
    try:
        bench.prepare()
        ratios = []
        for size in o.sizes.split(","):
            for rate in o.rates.split(","):
                ratios += measure(bench, size, rate)
        near = sum(abs(r - 1) <= 0.15 for r in ratios)
        if ratios:
            print(f"{near} of {len(ratios)} steps within 15 % of the plan, "
                  f"measured/planned from {min(ratios):.3f} to {max(ratios):.3f}")
    finally:
        subprocess.run([LAB, "down"])
        shutil.rmtree(bench.work, ignore_errors=True)


main()
