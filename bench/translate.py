#!/usr/bin/env python3
"""Translation on random weights beside CTranslate2, in turns: every cell of size, beam, batch and threads.

Each turn runs ferry in int8 and fp32 and CTranslate2 in fp32 and int8 once, one after the other, so that all of
them see the same minutes of the machine; the medians (and bests) of all turns are compared. CTranslate2 counts with
the faster of its modes and, on two threads, of its two ways to use them.
usage: translate.py FERRY [--turns 5] [--sizes base,small,tiny] [--python PYTHON] [--json FILE]
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def lines_of(words):
    out = subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in out.splitlines()]


def turn(o, cell):
    size, beam, batch, threads = cell
    same = ["--size", size, "--beam", str(beam), "--batch", str(batch), "--threads", str(threads)]
    rates = {}
    for mode in ("int8", "fp32"):
        found = lines_of([o.ferry, "bench", "translate", "--mode", mode, "--steps", "1", "--json"] + same)[0]
        rates["ferry " + mode] = found["target_tokens_per_s"]
    for found in lines_of([o.python, str(HERE / "peers/ct2_translate.py"), "--dir", o.dir] + same):
        rates["ct2 " + found["mode"]] = found["target_tokens_per_s"]
    return rates


def main():
    a = argparse.ArgumentParser()
    a.add_argument("ferry")
    a.add_argument("--turns", type=int, default=5)
    a.add_argument("--sizes", default="base,small,tiny")
    a.add_argument("--python", default=sys.executable)
    a.add_argument("--dir", default="build/ct2")
    a.add_argument("--json", help="append one line a cell to this file")
    o = a.parse_args()
    ratios = []
    print("target tokens/s, medians of", o.turns, "turns; in brackets the best")
    print(f"{'model':6} {'beam':>4} {'batch':>5} {'threads':>7} {'ferry int8':>16} {'ferry fp32':>16}"
          f" {'ct2 int8':>16} {'ct2 fp32':>16} {'ratio':>6}")
    cells = [(s, k, b, t) for s in o.sizes.split(",") for k in (1, 4) for b in (1, 32) for t in (1, 2)]
    for cell in cells:
        turns = [turn(o, cell) for _ in range(o.turns)]
        median = {k: statistics.median(x[k] for x in turns) for k in turns[0]}
        best = {k: max(x[k] for x in turns) for k in turns[0]}
        ratio = max(median["ferry int8"], median["ferry fp32"]) / max(median["ct2 int8"], median["ct2 fp32"])
        ratios.append(ratio)
        shown = [f"{median[k]:.0f} ({best[k]:.0f})" for k in ("ferry int8", "ferry fp32", "ct2 int8", "ct2 fp32")]
        print(f"{cell[0]:6} {cell[1]:4} {cell[2]:5} {cell[3]:7} " + " ".join(f"{x:>16}" for x in shown) + f" {ratio:6.2f}",
              flush=True)
        if o.json:
            with open(o.json, "a") as f:
                f.write(json.dumps({"cell": cell, "median": median, "best": best, "ratio": ratio}) + "\n")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"least ratio {min(ratios):.2f}, geometric mean {mean:.2f}")


if __name__ == "__main__":
    main()
