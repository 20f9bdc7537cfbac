#!/usr/bin/env python3
"""Subwords of Ferry beside those of the Python sentencepiece, on the same text.

    bench/text.py FERRY TEXT... [--vocab-size 32768] [--lines N] [--learn-lines N] [--repeat 3]

Both learn a BPE vocabulary from each text and must give the same .vocab; then both encode its
lines on one thread and on two and must give the same ids. Programs take turns; times are
medians. --learn-lines lets sentencepiece learn from that many lines only (its time is then
an underestimate for the whole, and the vocabularies are compared on that part), --lines
limits the lines that are encoded. The wheel encodes with the .model that Ferry wrote.
"""
import argparse
import itertools
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import sentencepiece


def head(path, n, out):
    """The first n lines of a text as a file (all of it when n is 0)."""
    if not n:
        return path
    with open(path, "rb") as lines, open(out, "wb") as part:
        part.writelines(itertools.islice(lines, n))
    return str(out)


def ferry_bench(ferry, path, prefix, vocab_size, *more):
    command = [ferry, "bench", "text", "--text", path, "--vocab-size", str(vocab_size), "--json",
               "--out", str(prefix), *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def wheel_learn(path, prefix, vocab_size):
    """Seconds and peak MiB of a process that learns from the sentences."""
    code = ("import sys, sentencepiece as s; s.SentencePieceTrainer.train(input=sys.argv[1], "
            "model_prefix=sys.argv[2], vocab_size=int(sys.argv[3]), model_type='bpe', pad_id=0, eos_id=1, "
            "bos_id=2, unk_id=3, character_coverage=1.0, hard_vocab_limit=False, minloglevel=3)")
    start = time.monotonic()
    subprocess.run([sys.executable, "-c", code, path, str(prefix), str(vocab_size)], check=True)
    return time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def wheel_encode(model, lines, threads):
    """Seconds, and the number that tells rows of ids apart in `ferry bench text`."""
    start = time.monotonic()
    rows = model.encode(lines, num_threads=threads)
    seconds, total = time.monotonic() - start, 0
    for row in rows:
        for i in row:
            total = (total * 31 + i + 1) & 0xFFFFFFFFFFFFFFFF
        total = total * 31 & 0xFFFFFFFFFFFFFFFF
    return seconds, f"{total:016x}"


def compare(o, path, folder):
    text = head(path, o.learn_lines, folder / "learn.txt")
    wheel, peak = wheel_learn(text, folder / "wheel", o.vocab_size)
    ours = ferry_bench(o.ferry, text, folder / "ours", o.vocab_size, "--learn-only")
    same = (folder / "wheel.vocab").read_bytes() == (folder / "ours.vocab").read_bytes()
    mine = ours["count_s"] + ours["learn_s"]
    print(f"{path}: {ours['lines']} lines, {ours['words']} different words")
    print(f"  learn   ours {mine:.2f} s (counting {ours['count_s']:.2f}), {ours['peak_mib']:.0f} MiB; "
          f"sentencepiece {sentencepiece.__version__} {wheel:.2f} s, {peak:.0f} MiB; {wheel / mine:.1f} times; "
          f".vocab {'identical' if same else 'DIFFERENT'}", flush=True)
    part = head(path, o.lines, folder / "encode.txt")
    with open(part, encoding="utf-8", errors="strict", newline="\n") as lines:
        lines = [line.rstrip("\n") for line in lines]
    rates = {}
    for _ in range(o.repeat):
        got = ferry_bench(o.ferry, part, folder / "again", o.vocab_size, "--threads", "2")
        for name in ("encode_one_s", "encode_s", "library_one_s", "library_s"):
            rates.setdefault(name, []).append(got["lines"] / got[name])
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "again.model"))
        for threads in (1, 2):
            seconds, ids = wheel_encode(model, lines, threads)
            if ids != got["sum"]:
                sys.exit(f"{path}: the wheel gives other ids than ferry")
            rates.setdefault(f"wheel {threads}", []).append(len(lines) / seconds)
    rate = {name: statistics.median(values) for name, values in rates.items()}
    for threads, mine, library in ((1, "encode_one_s", "library_one_s"), (2, "encode_s", "library_s")):
        print(f"  encode  {threads} thread{'s' * (threads > 1)}: ours {rate[mine]:.0f} lines/s; the library "
              f"{rate[library]:.0f}, {rate[mine] / rate[library]:.1f} times; the wheel {rate[f'wheel {threads}']:.0f}, "
              f"{rate[mine] / rate[f'wheel {threads}']:.1f} times; identical ids", flush=True)
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("ferry")
    parser.add_argument("text", nargs="+")
    parser.add_argument("--vocab-size", type=int, default=32768)
    parser.add_argument("--lines", type=int, default=0)
    parser.add_argument("--learn-lines", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=3)
    o = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return 0 if all([compare(o, path, pathlib.Path(folder)) for path in o.text]) else 1


if __name__ == "__main__":
    sys.exit(main())
