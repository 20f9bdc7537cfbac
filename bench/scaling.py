#!/usr/bin/env python3
"""Two ranks of one thread against one rank of one thread, each with the same tokens a rank.

The two take turns, so that a noisy minute hurts both; every turn is a short training of the
sample corpus from nothing, whose first two steps are not counted. Tokens a second are source
plus target over all ranks, median and best of --repeat turns.
usage: scaling.py FERRY [--sizes small,base] [--tokens 4096] [--steps 3] [--repeat 5]
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
VOCABULARY = {"base": 32768, "small": 8192}
WARM_UP = 2


def quiet(*words, **options):
    subprocess.run(list(map(str, words)), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)


def prepare(ferry, work):
    quiet(ferry, "sample", "text", cwd=work)
    target, source = sorted((work / "text").glob("train.*"))
    quiet(ferry, "prepare", f"source={source}", f"target={target}", "out=data", "vocab_size=2000", cwd=work)


def tokens_per_s(ferry, work, size, n_ranks, o):
    run = work / "run"
    shutil.rmtree(run, ignore_errors=True)
    root = ["--allow-run-as-root"] if os.getuid() == 0 else []
    quiet("mpirun", *root, "-n", n_ranks, "--bind-to", "core", ferry, "train", ROOT / f"configs/{size}.yaml",
          f"data={work}/data", f"run={run}", f"vocab_size={VOCABULARY[size]}", f"batch_tokens={n_ranks * o.tokens}", "batch_sentences=0",
          "threads=1", f"max_steps={o.steps + WARM_UP}", "eval_every=0", "save_every=0", "eval_bleu=false",
          "log_every=1", "moving_average=0")
    events = [json.loads(line) for line in open(run / "run.jsonl", encoding="utf-8")]
    return statistics.median(e["tokens_per_s"] for e in events if e["event"] == "step" and e["step"] > WARM_UP)


def table(ferry, work, size, o):
    rates = {1: [], 2: []}
    for _ in range(o.repeat):
        for n_ranks in rates:
            rates[n_ranks].append(tokens_per_s(ferry, work, size, n_ranks, o))
    print(f"\n{size}, {o.tokens} target tokens per rank, one thread per rank")
    for n_ranks, all_rates in rates.items():
        print(f"  {n_ranks} ranks  {statistics.median(all_rates):8.0f} tokens/s median  {max(all_rates):8.0f} best")
    print(f"  two over one: {statistics.median(rates[2]) / statistics.median(rates[1]):.2f} of medians, "
          f"{max(rates[2]) / max(rates[1]):.2f} of bests", flush=True)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("ferry", type=lambda p: pathlib.Path(p).resolve())
    a.add_argument("--sizes", default="small,base")
    a.add_argument("--tokens", type=int, default=4096)
    a.add_argument("--steps", type=int, default=3)
    a.add_argument("--repeat", type=int, default=5)
    o = a.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="ferry-scaling-"))
    try:
        prepare(o.ferry, work)
        for size in o.sizes.split(","):
            table(o.ferry, work, size, o)
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
