#!/usr/bin/env python3
"""A training step of Ferry beside the same step in PyTorch and Marian.

Programs take turns, so that a noisy minute hurts all of them. The table, in the markdown of
docs/performance.md, has medians of --repeat turns and the best; ratios are of both. Ferry's
device is a ceiling for the instruction set of the peers as well. Every single result goes to
build/bench.jsonl. usage: compare.py FERRY [--repeat 5] [--only base:1024] [--device cpu-avx2]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

from limits import DEVICES, environment

PEERS = pathlib.Path(__file__).parent / "peers"
CASES = [  # size, target tokens a step, mean sentence length
    ("base", 1024, 28), ("base", 4096, 28), ("small", 2048, 28), ("tiny", 4096, 14)]
PROGRAMS = {"ferry": "Ferry", "torch": "PyTorch", "torch compiled": "compiled", "marian": "Marian"}


def commands(ferry, device, size, tokens, mean):
    common = ["--size", size, "--tokens", str(tokens), "--mean", str(mean), "--threads", "2"]
    yield "ferry", [ferry, "bench", "step", *common, "--device", device, "--json"]
    yield "torch", [sys.executable, str(PEERS / "torch_transformer.py"), *common]
    yield "torch compiled", [sys.executable, str(PEERS / "torch_transformer.py"), *common, "--compile"]
    yield "marian", [sys.executable, str(PEERS / "marian_step.py"), *common]


def run(command, device, seconds):
    """The last line of output as JSON, or None with the reason on stderr."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=environment(device))
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (OSError, subprocess.TimeoutExpired, IndexError, ValueError) as why:
        print(f"  left out: {' '.join(command[-8:])}: {why}", file=sys.stderr)
        return None


def measure(ferry, device, case, repeat, log):
    results, missing = {}, set()
    for _ in range(repeat):
        for name, command in commands(ferry, device, *case):
            if name in missing:
                continue
            got = run(command, device, 600)
            if got is None:
                missing.add(name)
                continue
            results.setdefault(name, []).append(got)
            print(json.dumps(dict(got, who=name, case=case, device=device)), file=log, flush=True)
    return results


def rates(rows):
    speeds = [row["tokens_per_s"] for row in rows]
    return statistics.median(speeds), max(speeds)


def against(results):
    """Ferry over the fastest peer: medians, and best over best."""
    peers = [rates(rows) for name, rows in results.items() if name != "ferry"]
    if not peers or "ferry" not in results:
        return "–"
    median, best = rates(results["ferry"])
    return f"**{median / max(p[0] for p in peers):.2f}**; {best / max(p[1] for p in peers):.2f}"


def of_roof(results):
    shares = [row["percent_of_roof"] for row in results.get("ferry", []) if "percent_of_roof" in row]
    return f"{statistics.median(shares):.0f} %, best {max(shares):.0f} %" if shares else "–"


def memory(results):
    """Peak MiB of Ferry, and of those peers that tell theirs."""
    peaks = {name: max(row["peak_mib"] for row in rows) for name, rows in results.items() if "peak_mib" in rows[0]}
    own = peaks.pop("ferry", None)
    cells = [f"{own:,.0f}"] if own else []
    cells += [f"{PROGRAMS[name]} {peak:,.0f}" + (f" ({own / peak:.0%})" if own else "") for name, peak in peaks.items()]
    return ", ".join(cells).replace("%", " %") or "–"


def head(device):
    columns = [*PROGRAMS.values(), "Ferry over the fastest", "of the roof", "peak MiB (Ferry's share of a peer's)"]
    print(f"device={device}, source plus target tokens per second, median and best\n")
    print(f"| | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}", flush=True)


def row(case, results):
    size, tokens, mean = case
    cells = []
    for name in PROGRAMS:
        median, best = rates(results[name]) if name in results else (0, 0)
        cells.append(f"{median:,.0f}, best {best:,.0f}" if best else "–")
    cells += [against(results), of_roof(results), memory(results)]
    print(f"| {size}, {tokens:,}, sentences of {mean} | {' | '.join(cells)} |", flush=True)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("ferry")
    a.add_argument("--repeat", type=int, default=5)
    a.add_argument("--only", help="one case, as size:tokens")
    a.add_argument("--device", choices=DEVICES, default="cpu")
    o = a.parse_args()
    build = pathlib.Path("build")
    build.mkdir(exist_ok=True)
    with open(build / "bench.jsonl", "w", encoding="utf-8") as log:
        head(o.device)
        for case in CASES:
            if not o.only or o.only == f"{case[0]}:{case[1]}":
                row(case, measure(o.ferry, o.device, case, o.repeat, log))


if __name__ == "__main__":
    main()
