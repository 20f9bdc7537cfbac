#!/usr/bin/env python3
"""Does mixed precision learn what fp32 learns? The table of docs/gpu.md.

    bench/precision.py FERRY DIR [--seeds N] [--minutes M]

Trains a shrunk configs/base.yaml for 500 updates on the sample corpus, on one thread, in
fp32 with four seeds and in each mixed precision, emulated, with N of them (3). What is in
DIR already is not trained again; after M minutes no other run is begun and the status is 3,
so that it can be called in pieces. A mixed precision is good when its mean loss on the
validation set is within 0.02 nats, or two deviations of fp32's seeds, of fp32 on the same
seeds; otherwise the status is 1.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS = 500
SHRUNK = ["vocab_size=0", "d_model=64", "d_ff=256", "heads=4", "encoder_layers=2",
          "decoder_layers=2", "batch_tokens=750", "batch_sentences=0", "learning_rate=0.5",
          "warmup_steps=200", f"max_steps={STEPS}", "eval_every=0", "eval_bleu=false",
          "save_every=0", "log_every=1", "keep_best=0", "threads=1", "pin=false"]
WAYS = {"fp32": ["precision=fp32"],
        "bf16": ["precision=bf16"],
        "fp16, backoff": ["precision=fp16", "loss_scaling=backoff"],
        "fp16, logmax": ["precision=fp16", "loss_scaling=logmax"]}
EXACT_SEEDS = 4


def call(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}:\n{done.stderr}")


def prepare(ferry, where):
    text, data = where / "text", where / "data"
    if data.is_dir():
        return data
    call(ferry, "sample", text)
    call(ferry, "prepare", *(f"{part}{side}={text}/{file}.{end}"
                             for part, file in (("", "train"), ("valid_", "valid"))
                             for side, end in (("source", "en"), ("target", "de"))),
         f"out={data}", "vocab_size=2000")
    return data


def facts(run):
    """The last validation loss, skipped updates and the last loss scale of a finished run."""
    log = run / "run.jsonl"
    events = [json.loads(line) for line in log.open()] if log.exists() else []
    if not any(e["event"] == "stop" and e.get("step") == STEPS for e in events):
        return None
    loss = [e["valid_loss"] for e in events if e["event"] == "eval"][-1]
    scale = [e["loss_scale"] for e in events if e["event"] == "step" and "loss_scale" in e]
    return loss, sum(e["event"] == "skip" for e in events), scale[-1] if scale else 1


def train_all(ferry, where, seeds, minutes):
    data, begin, found = prepare(ferry, where), time.monotonic(), {way: {} for way in WAYS}
    wanted = [(way, seed) for seed in range(1, EXACT_SEEDS + 1) for way in WAYS
              if way == "fp32" or seed <= seeds]
    for way, seed in wanted:
        run = where / f"{way.replace(', ', '-')}-{seed}"
        if not facts(run):
            if time.monotonic() - begin > 60 * minutes:
                print(f"{sum(map(len, found.values()))} of {len(wanted)} runs are done; call again")
                sys.exit(3)
            call(ferry, "train", ROOT / "configs/base.yaml", f"data={data}", f"run={run}",
                 f"seed={seed}", *SHRUNK, *WAYS[way])
        found[way][seed] = facts(run)
    return found


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("ferry", type=lambda name: pathlib.Path(name).resolve())
    options.add_argument("dir", type=pathlib.Path)
    options.add_argument("--seeds", type=int, choices=range(1, EXACT_SEEDS + 1), default=3)
    options.add_argument("--minutes", type=float, default=1e9)
    asked = options.parse_args()
    found = train_all(asked.ferry, asked.dir, asked.seeds, asked.minutes)
    seeds = range(1, asked.seeds + 1)
    exact = {seed: loss for seed, (loss, _, _) in found["fp32"].items()}
    deviation = statistics.stdev(exact.values())
    limit = max(0.02, 2 * deviation)
    print(f"deviation of fp32's {len(exact)} seeds: {deviation:.4f}; limit {limit:.4f} nats\n")
    print(f"| precision | validation loss, seeds {' '.join(map(str, seeds))} | mean | from fp32 | skipped | last scale |")
    print("|---|---|--:|--:|--:|--:|")
    bad = []
    for way, runs in found.items():
        losses = [runs[seed][0] for seed in seeds]
        gap = statistics.mean(losses) - statistics.mean(exact[seed] for seed in seeds)
        bad += [way] if abs(gap) > limit else []
        print(f"| {way} | {' '.join(f'{x:.4f}' for x in losses)} | {statistics.mean(losses):.4f} | "
              f"{gap:+.4f} | {sum(runs[s][1] for s in seeds)} | "
              f"{' '.join(f'{runs[s][2]:g}' for s in seeds)} |")
    if bad:
        sys.exit(f"beyond the limit: {', '.join(bad)}")


if __name__ == "__main__":
    main()
