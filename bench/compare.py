#!/usr/bin/env python3
"""A training step of Ferry beside the same step in PyTorch and Marian.

Programs take turns, so that a noisy minute hurts all of them; each row is the median of
--repeat turns, and the best. Ratios are of medians. Every single result goes to
build/bench.jsonl. usage: compare.py FERRY [--repeat 5] [--only base:1024]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

PEERS = pathlib.Path(__file__).parent / "peers"
CASES = [  # size, target tokens a step, mean sentence length
    ("base", 1024, 28), ("base", 4096, 28), ("small", 2048, 28), ("tiny", 4096, 14)]


def commands(ferry, size, tokens, mean):
    common = ["--size", size, "--tokens", str(tokens), "--mean", str(mean), "--threads", "2"]
    yield "ferry", [ferry, "bench", "step", *common, "--json"]
    yield "torch", [sys.executable, str(PEERS / "torch_transformer.py"), *common]
    yield "torch compiled", [sys.executable, str(PEERS / "torch_transformer.py"), *common, "--compile"]
    yield "marian", [sys.executable, str(PEERS / "marian_step.py"), *common]


def run(command, seconds):
    """The last line of output as JSON, or None with the reason on stderr."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError) as why:
        print(f"  left out: {' '.join(command[-8:])}: {why}", file=sys.stderr)
        return None


def measure(ferry, case, repeat, log):
    results, missing = {}, set()
    for _ in range(repeat):
        for name, command in commands(ferry, *case):
            if name in missing:
                continue
            got = run(command, 600)
            if got is None:
                missing.add(name)
                continue
            results.setdefault(name, []).append(got)
            print(json.dumps(dict(got, who=name, case=case)), file=log, flush=True)
    return results


def table(case, results):
    size, tokens, mean = case
    print(f"\n{size}, {tokens} target tokens per step, sentences of {mean}")
    print(f"  {'':16}{'tokens/s median':>16}{'best':>9}{'peak MiB':>10}")
    rate = {}
    for name, rows in results.items():
        speeds = [row["tokens_per_s"] for row in rows]
        rate[name] = statistics.median(speeds)
        peak = max((row.get("peak_mib", 0) for row in rows), default=0)
        print(f"  {name:16}{rate[name]:16.0f}{max(speeds):9.0f}{peak:10.0f}")
    ferry = results.get("ferry", [])
    if ferry:
        share = statistics.median(row["percent_of_roof"] for row in ferry)
        print(f"  ferry reaches {share:.0f} % of the roof (best "
              f"{max(row['percent_of_roof'] for row in ferry):.0f} %)")
    peers = {name: x for name, x in rate.items() if name != "ferry"}
    if ferry and peers:
        fastest = max(peers, key=peers.get)
        print(f"  ferry is {rate['ferry'] / peers[fastest]:.2f} times as fast as {fastest}")


def main():
    a = argparse.ArgumentParser()
    a.add_argument("ferry")
    a.add_argument("--repeat", type=int, default=5)
    a.add_argument("--only", help="one case, as size:tokens")
    o = a.parse_args()
    build = pathlib.Path("build")
    build.mkdir(exist_ok=True)
    with open(build / "bench.jsonl", "w", encoding="utf-8") as log:
        for case in CASES:
            if not o.only or o.only == f"{case[0]}:{case[1]}":
                table(case, measure(o.ferry, case, o.repeat, log))


if __name__ == "__main__":
    main()
