#!/usr/bin/env python3
"""How the speed of a base-size step follows its tokens, sentence lengths and threads.

The rows of a table take turns, so that a noisy minute hurts all of them; tokens a second
are source plus target, median and best of --repeat turns.
usage: shape.py FERRY [--repeat 5] [--only tokens|mean|threads] [--device cpu-avx2]
"""
import argparse
import json
import statistics
import subprocess

from limits import DEVICES

TABLES = [  # title, the option that varies, its values, the other options
    ("target tokens per step (sentences of 28)", "--tokens", [1024, 4096, 16384], ["--mean", "28"]),
    ("tokens in a sentence (2,048 per step)", "--mean", [10, 30, 100, 300], ["--tokens", "2048"]),
]


def step(o, options):
    """Long steps are timed fewer times: seven of 1,024 tokens, one of 16,384."""
    tokens = int(options[options.index("--tokens") + 1])
    steps = str(max(1, 7 * 1024 // tokens))
    command = [o.ferry, "bench", "step", "--size", "base", "--device", o.device, "--json", "--steps", steps, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def table(o, title, option, values, others):
    results = {value: [] for value in values}
    for _ in range(o.repeat):
        for value in values:
            results[value].append(step(o, [option, str(value), *others]))
    print(f"\nbase, by {title}")
    print(f"  {'':>8}{'tokens/s median':>16}{'best':>8}{'to the first':>14}{'% of roof':>11}{'peak MiB':>10}")
    first = None
    for value, rows in results.items():
        speeds = [row["tokens_per_s"] for row in rows]
        median = statistics.median(speeds)
        first = first or median
        share = statistics.median(row["percent_of_roof"] for row in rows)
        print(f"  {value:8}{median:16.0f}{max(speeds):8.0f}{median / first:14.2f}{share:11.0f}"
              f"{max(row['peak_mib'] for row in rows):10.0f}", flush=True)


def threads(o):
    """Two threads over one, step by step in turns: a host's speed changes within seconds."""
    rows = [step(o, ["--tokens", "1024", "--threads", "2", "--against", "1"]) for _ in range(o.repeat)]
    times = [row["times_against"] for row in rows]
    print("\nbase, by threads (1,024 tokens per step), every other step with one thread")
    for n, key in (1, "against_tokens_per_s"), (2, "tokens_per_s"):
        speeds = [row[key] for row in rows]
        print(f"  {n:8}{statistics.median(speeds):16.0f}{max(speeds):8.0f}")
    print(f"  two over one: median {statistics.median(times):.2f} of {', '.join(f'{t:.2f}' for t in times)}; "
          f"{statistics.median(row['percent_of_roof'] for row in rows):.0f} % of the roof", flush=True)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("ferry")
    a.add_argument("--repeat", type=int, default=5)
    a.add_argument("--device", choices=DEVICES, default="cpu")
    a.add_argument("--only", choices=["threads", *(option[2:] for _, option, _, _ in TABLES)], help="one table")
    o = a.parse_args()
    for title, option, values, others in TABLES:
        if o.only and option != f"--{o.only}":
            continue
        table(o, title, option, values, others)
    if o.only in (None, "threads"):
        threads(o)


if __name__ == "__main__":
    main()
