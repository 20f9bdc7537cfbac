#!/usr/bin/env python3
"""Subwords of Ferry beside those of the Python sentencepiece, on the same text.

    bench/text.py FERRY TEXT... [--vocab-size 32768] [--learn-lines N,N,...] [--limit SECONDS]
        [--learn-only | --tokenizer FILE.model] [--encode-lines N] [--repeat 5]

Both learn a BPE vocabulary from the text and must give the same .vocab; then both encode its
lines on one thread and on two, by the .model that Ferry wrote, and must give the same ids.
Programs take turns; times are medians of wall time. Ours are of the whole process, those of
sentencepiece of the call alone. --learn-lines learns from so many first lines, one size after
the other (0: all). A learner that passes --limit is ended, and its time is a lower bound.
--tokenizer learns nothing and encodes by that model.
"""
import argparse
import itertools
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import sentencepiece

LEARN = """
import sys, time, sentencepiece
start = time.monotonic()
sentencepiece.SentencePieceTrainer.train(input=sys.argv[1], model_prefix=sys.argv[2],
    vocab_size=int(sys.argv[3]), model_type='bpe', pad_id=0, eos_id=1, bos_id=2, unk_id=3,
    character_coverage=1.0, hard_vocab_limit=False, minloglevel=3)
print(time.monotonic() - start)
"""


def head(path, n, out):
    """The first n lines of a text as a file (all of it when n is 0)."""
    if not n:
        return path
    with open(path, "rb") as lines, open(out, "wb") as part:
        part.writelines(itertools.islice(lines, n))
    return str(out)


def run(command, limit=None):
    """Output, wall seconds, CPU seconds and peak MiB of a process; output None past the limit."""
    with tempfile.TemporaryFile("w+") as out:
        start = time.monotonic()
        child = subprocess.Popen(command, stdout=out)
        pid = 0
        while not pid:
            pid, state, use = os.wait4(child.pid, os.WNOHANG if limit else 0)
            if not pid and time.monotonic() - start > limit:
                child.kill()
                pid, state, use = os.wait4(child.pid, 0)
            elif not pid:
                time.sleep(0.05)
        child.returncode = os.waitstatus_to_exitcode(state)
        wall = time.monotonic() - start
        if child.returncode not in (0, -signal.SIGKILL if limit else 0):
            sys.exit(f"{command[0]} ended with status {child.returncode}")
        out.seek(0)
        return (out.read() if child.returncode == 0 else None, wall, use.ru_utime + use.ru_stime,
                use.ru_maxrss / 1024)


def ferry_bench(o, path, *more):
    command = [o.ferry, "bench", "text", "--text", path, "--vocab-size", str(o.vocab_size), "--json", "--threads", "2"]
    out, wall, cpu, peak = run([*command, *more])
    return json.loads(out), wall, cpu, peak


def learn(o, path, n_lines, folder):
    """Both learners on the first lines; False when their vocabularies differ."""
    text = head(path, n_lines, folder / "learn.txt")
    times = {"ours": [], "peer": []}
    cut = False
    for _ in range(o.repeat):
        ours, wall, our_cpu, our_peak = ferry_bench(o, text, "--learn-only", "--out", str(folder / "ours"))
        times["ours"].append(wall)
        out, wall, cpu, peak = run([sys.executable, "-c", LEARN, text, str(folder / "peer"),
                                    str(o.vocab_size)], o.limit)
        cut = out is None
        times["peer"].append(wall if cut else float(out))
        if cut:
            break
    mine, theirs = statistics.median(times["ours"]), statistics.median(times["peer"])
    same = cut or (folder / "peer.vocab").read_bytes() == (folder / "ours.vocab").read_bytes()
    more = "more than " if cut else ""
    print(f"{path}: {ours['lines']} lines, {ours['words']} different words\n"
          f"  learn   ours {mine:.2f} s (counting {ours['count_s']:.2f}; CPU {our_cpu:.1f}), {our_peak:.0f} MiB "
          f"with the mapped text; sentencepiece {sentencepiece.__version__} {more}{theirs:.2f} s (CPU {cpu:.1f}), "
          f"{more}{peak:.0f} MiB; {more}{theirs / mine:.1f} times; "
          f".vocab {'not compared: ended by --limit' if cut else 'identical' if same else 'DIFFERENT'}", flush=True)
    return same


def peer_encode(model, lines, threads):
    """Seconds, and the number that tells rows of ids apart in `ferry bench text`."""
    start = time.monotonic()
    rows = model.encode(lines, num_threads=threads)
    seconds, total = time.monotonic() - start, 0
    for row in rows:
        for i in row:
            total = (total * 31 + i + 1) & 0xFFFFFFFFFFFFFFFF
        total = total * 31 & 0xFFFFFFFFFFFFFFFF
    return seconds, f"{total:016x}"


def encode(o, path, tokenizer, folder):
    """Our encoder, that of the C++ library that Ferry links and that of the wheel."""
    part = head(path, o.encode_lines, folder / "encode.txt")
    with open(part, encoding="utf-8", errors="strict", newline="\n") as text:
        lines = [line.rstrip("\n") for line in text]
    model = sentencepiece.SentencePieceProcessor(model_file=tokenizer)
    rates = {}
    for _ in range(o.repeat):
        got = ferry_bench(o, part, "--tokenizer", tokenizer)[0]
        for name in ("encode_one_s", "encode_s", "library_one_s", "library_s"):
            rates.setdefault(name, []).append(got["lines"] / got[name])
        for threads in (1, 2):
            seconds, ids = peer_encode(model, lines, threads)
            if ids != got["sum"]:
                sys.exit(f"{path}: the wheel gives other ids than ferry")
            rates.setdefault(f"wheel {threads}", []).append(len(lines) / seconds)
    rate = {name: statistics.median(values) for name, values in rates.items()}
    print(f"{path}: {len(lines)} lines, {got['ids']} ids, {got['pieces']} pieces")
    for threads, mine, library in ((1, "encode_one_s", "library_one_s"), (2, "encode_s", "library_s")):
        print(f"  encode  {threads} thread{'s' * (threads > 1)}: ours {rate[mine]:.0f} lines/s; the library "
              f"{rate[library]:.0f}, {rate[mine] / rate[library]:.1f} times; the wheel {rate[f'wheel {threads}']:.0f}, "
              f"{rate[mine] / rate[f'wheel {threads}']:.1f} times; identical ids", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("ferry")
    parser.add_argument("text", nargs="+")
    parser.add_argument("--vocab-size", type=int, default=32768)
    parser.add_argument("--learn-lines", type=lambda text: [int(n) for n in text.split(",")], default=[0])
    parser.add_argument("--learn-only", action="store_true")
    parser.add_argument("--limit", type=float)
    parser.add_argument("--tokenizer")
    parser.add_argument("--encode-lines", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=5)
    o = parser.parse_args()
    same = True
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for path in o.text:
            for n_lines in o.learn_lines if not o.tokenizer else []:
                same = learn(o, path, n_lines, folder) and same
            if not o.learn_only:
                encode(o, path, o.tokenizer or str(folder / "ours.model"), folder)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
