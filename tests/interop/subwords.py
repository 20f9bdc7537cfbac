#!/usr/bin/env python3
"""usage: subwords.py FERRY text FILE [--vocab-size 32768]
       subwords.py FERRY hostile LINES [--seed 1]
       subwords.py FERRY dropout DATA [--rate 0.1]
       subwords.py FERRY unigram FILE [--vocab-size 32768]
       subwords.py FERRY drawn DATA [--rate 0.1]

Ferry's subwords against sentencepiece's. `text`: both learn from the file and must write the
same .vocab, then both encode every line of it by both .model files. `hostile`: lines that break
tokenizers, made here, encoded by a model that Ferry learned from some of them. Ids are compared by
their number and by a sum that tells rows apart, which `ferry bench text` prints for its own encoder
after it has compared that with the C++ library's. `dropout`: how often each way to cut each word of
the first pairs of a data directory comes, in Ferry's BPE-dropout and in sentencepiece's sampling
(chi-square of two samples). `unigram` writes unigram.model, which sentencepiece learns from the file;
`drawn` compares the ways to cut words as `dropout` does, of data by such a model.
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys

import sentencepiece

RANGES = [(0x21, 0x7e), (0x61, 0x7a), (0x300, 0x36f), (0x1f300, 0x1faff), (0x590, 0x7ff), (0x80, 0x10ffff),
          (0x3000, 0x30ff), (0xfb00, 0xfdff), (0xff00, 0xffef), (0x2000, 0x206f), (0xac00, 0xd7a3),
          (0x1100, 0x11ff), (0xa0, 0x17f), (0x900, 0xdff), (0xfe00, 0xfe0f), (0x2570, 0x2590),
          (0xe0000, 0xe01ef), (0x378, 0x379), (0x10fff0, 0x10ffff)]
BYTES = [b" ", b"  ", b"\t", b"\0", b"\r", b"the", b"F\xc3\xa4hre", b"<s>", b"</s>", b"<unk>", b"<pad>",
         b"\xe2\x96\x81", b"\xc0\x80", b"\xc0\xaf", b"\xe0\x80\xa0", b"\xf0\x80\x80\xa0", b"\xf8\x88\x80\x80\x80",
         b"\x80", b"\xff", b"\xe2\x96", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc2\xa0", b"a\xcc\x88", b"\xcc\x88",
         b"\xe2\x80\x8d\xef\xb8\x8f", b"\xef\xbb\xbf", b"\xe2\x80\xae", b"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb"]


def hostile(rng):
    """A line of a few kinds at a time, one in a thousand very long."""
    kinds = [rng.choice(RANGES) if rng.random() < 0.6 else rng.choice(BYTES) for _ in range(rng.randint(1, 6))]
    out = []
    for _ in range(rng.randint(1000, 60000) if rng.random() < 0.001 else rng.randint(0, 30)):
        kind = rng.choice(kinds)
        out.append(kind if isinstance(kind, bytes) else chr(rng.randint(*kind)).encode("utf-8", "surrogatepass"))
    return b"".join(out)


def rows_sum(rows):
    total = 0
    for row in rows:
        for i in row:
            total = (total * 31 + i + 1) & 0xFFFFFFFFFFFFFFFF
        total = total * 31 & 0xFFFFFFFFFFFFFFFF
    return f"{total:016x}"


def lines_of(path):
    """Lines end at LF; one CR before it and a byte order mark in front belong to none."""
    data = pathlib.Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf")
    return [line.removesuffix(b"\r") for line in data.removesuffix(b"\n").split(b"\n")]


def bench(ferry, path, *more):
    command = [ferry, "bench", "text", "--text", path, "--json", "--threads", "2", *more]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else sys.exit(f"{' '.join(command)} failed")


def check_ids(ferry, path, model):
    lines = lines_of(path)
    ours = bench(ferry, path, "--tokenizer", model)
    peer = sentencepiece.SentencePieceProcessor(model_file=model)
    rows = [peer.encode(line) for line in lines]
    n = sum(len(row) for row in rows)
    print(f"{path} by {model}: {len(lines)} lines, {n} ids, sum {rows_sum(rows)}")
    if (ours["lines"], ours["ids"], ours["sum"]) != (len(lines), n, rows_sum(rows)):
        sys.exit(f"{path} by {model}: ferry has {ours['lines']} lines, {ours['ids']} ids, sum {ours['sum']}")


def check_text(ferry, path, vocab_size):
    bench(ferry, path, "--learn-only", "--vocab-size", str(vocab_size), "--out", "ours")
    sentencepiece.SentencePieceTrainer.train(
        input=path, model_prefix="peer", vocab_size=vocab_size, model_type="bpe", pad_id=0, eos_id=1, bos_id=2,
        unk_id=3, character_coverage=1.0, hard_vocab_limit=False, minloglevel=3)
    if pathlib.Path("ours.vocab").read_bytes() != pathlib.Path("peer.vocab").read_bytes():
        sys.exit(f"{path}: the vocabularies differ")
    for model in ("ours.model", "peer.model"):
        check_ids(ferry, path, model)


def check_hostile(ferry, n, seed):
    rng = random.Random(seed)
    lines = [hostile(rng).replace(b"\n", b" ") for _ in range(n)]
    pathlib.Path("learn.txt").write_bytes(b"".join(line + b"\n" for line in lines[:5000]))
    pathlib.Path("hostile.txt").write_bytes(b"".join(line + b"\n" for line in lines))
    bench(ferry, "learn.txt", "--learn-only", "--vocab-size", "20000", "--out", "hostile")
    check_ids(ferry, "hostile.txt", "hostile.model")


def ways(rows):
    """How often each word of a sentence is cut in each way; rows are lists of pieces."""
    counts = collections.defaultdict(collections.Counter)
    for row in rows:
        words = " ".join(row).replace(" \u2581", "\n\u2581").split("\n")
        for i, word in enumerate(words):
            counts[i][word] += 1
    return counts


def check_shares(name, ours, theirs):
    """Returns chi-square and its degrees of freedom."""
    rare, chi, degrees = [0, 0], 0, -1
    for way in set(ours) | set(theirs):
        pair = ours[way], theirs[way]
        if sum(pair) < 20:
            rare = [rare[0] + pair[0], rare[1] + pair[1]]
            continue
        chi += (pair[0] - pair[1]) ** 2 / sum(pair)
        degrees += 1
    if sum(rare):
        chi += (rare[0] - rare[1]) ** 2 / sum(rare)
        degrees += 1
    if chi > degrees + 5 * (2 * max(degrees, 1)) ** 0.5 + 15:  # of few degrees it has a long tail
        sys.exit(f"{name}: chi-square {chi:.1f} of {degrees} degrees of freedom")
    return chi, degrees


def learn_unigram(path, vocab_size):
    sentencepiece.SentencePieceTrainer.train(
        input=path, model_prefix="unigram", vocab_size=vocab_size, model_type="unigram", pad_id=0, eos_id=1, bos_id=2,
        unk_id=3, character_coverage=1.0, hard_vocab_limit=False, minloglevel=3)


def check_sampling(ferry, data, option, rate):
    pairs, epochs = 4, 10000
    command = [ferry, "inspect", data, f"pairs={pairs}", f"epochs={epochs}", f"{option}={rate}", "--json"]
    rows = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)["train"]
    peer = sentencepiece.SentencePieceProcessor(model_file=f"{data}/vocab.model")
    chi = degrees = n_words = 0
    for pair in range(pairs):
        for side in "source", "target":
            texts = [row[side].split(" ") for row in rows if row["pair"] == pair]
            line = "".join(texts[0]).replace("\u2581", " ").strip()
            ours = ways(texts)
            theirs = ways([peer.encode(line, out_type=str, enable_sampling=True, alpha=rate, nbest_size=-1)
                           for _ in range(epochs)])
            for i, of_ours in ours.items():
                c, k = check_shares(f"{line}, word {i}", of_ours, theirs[i])
                chi, degrees, n_words = chi + c, degrees + k, n_words + 1
    if abs(chi - degrees) > 5 * (2 * degrees) ** 0.5:
        sys.exit(f"all words at {option}={rate}: chi-square {chi:.1f} of {degrees} degrees of freedom")
    print(f"{n_words} words cut {epochs} times at {option}={rate}: chi-square {chi:.1f} of {degrees} degrees of freedom")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("ferry")
    parser.add_argument("what", choices=["text", "hostile", "dropout", "unigram", "drawn"])
    parser.add_argument("of")
    parser.add_argument("--vocab-size", type=int, default=32768)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=0.1)
    o = parser.parse_args()
    if o.what == "text":
        check_text(o.ferry, o.of, o.vocab_size)
    elif o.what == "unigram":
        learn_unigram(o.of, o.vocab_size)
    elif o.what in ("dropout", "drawn"):
        check_sampling(o.ferry, o.of, "bpe_dropout" if o.what == "dropout" else "subword_alpha", o.rate)
    else:
        check_hostile(o.ferry, int(o.of), o.seed)


if __name__ == "__main__":
    main()
