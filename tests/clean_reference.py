#!/usr/bin/env python3
"""usage: clean_reference.py make SEED PAIRS SOURCE TARGET
       clean_reference.py clean SOURCE TARGET OUT_SOURCE OUT_TARGET

An implementation of the rules of cleaning from their description alone, with nothing but
the standard library, to compare `ferry prepare` with; and pairs that are hard on it: every
kind of white space and of broken UTF-8, bars, word counts and ratios at their bounds, words
of about a thousand characters, control characters, line separators that end no line.

Rules, in order, for each pair:
  - unless a side of line 1 contains "|", every "|" is deleted, else "|" separates factors;
  - runs of Unicode white space become one blank, none at either end;
  - dropped: a side that is not UTF-8; a side without text; more than 80 words; fewer than
    1; a ratio of the word counts above 9 either way; a word (factor) of more than 1000
    characters; a blank factor.
"""
import random
import sys

# White_Space of the Unicode standard; str.isspace() also takes U+001C to U+001F.
SPACE = set("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000") | \
    {chr(c) for c in range(0x2000, 0x200b)}
BROKEN = [b"\xff", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\x80", b"\xf0\x9f"]
ODD = ["|", "||", " |", "\x00", "\x01", "\x1c", "\x7f", "\x85", "\u2028", "\u2029", "\u200b",
       "\ufeff", "e\u0301", "\U0001f600", "\u0600", "\u4e2d", "\r", "\u3000", "\xa0", "\ufffd"]


def words(rng, n):
    return [rng.choice(["a", "der", "Haus", "caf\xe9", "x" * rng.randint(1, 12), "\u6f22", "12,5"])
            for _ in range(n)]


def side(rng, n):
    parts = words(rng, n)
    kind = rng.random()
    if kind < 0.3 and parts:
        parts[rng.randrange(len(parts))] = rng.choice(ODD)
    elif kind < 0.36 and parts:
        letter = rng.choice(["y", "\xe4", "\U0001f642"])
        parts[rng.randrange(len(parts))] = letter * rng.choice([998, 999, 1000, 1001, 1002])
    blanks = sorted(SPACE - {"\n"})
    text = ""
    for part in parts:
        text += part + (rng.choice(blanks) if rng.random() < 0.1 else " ") * rng.choice([1, 1, 1, 2])
    raw = (rng.choice(["", " ", "\t"]) + text).encode("utf-8")
    if rng.random() < 0.05:
        at = rng.randint(0, len(raw))
        raw = raw[:at] + rng.choice(BROKEN) + raw[at:]
    return raw.replace(b"\n", b" ")


def lengths(rng):
    kind = rng.random()
    if kind < 0.15:
        return rng.choice([0, 1, 79, 80, 81, 82]), rng.choice([0, 1, 8, 9, 10, 80, 81])
    if kind < 0.4:
        low = rng.randint(1, 9)
        return rng.choice([(low, 9 * low), (low, 9 * low + 1), (9 * low, low), (9 * low + 1, low)])
    return rng.randint(1, 30), rng.randint(1, 30)


def make(seed, n_pairs, source, target):
    rng = random.Random(seed)
    with open(source, "wb") as a, open(target, "wb") as b:
        for _ in range(n_pairs):
            n, m = lengths(rng)
            end = b"\r\n" if rng.random() < 0.02 else b"\n"
            a.write(side(rng, n) + end)
            b.write(side(rng, m) + end)


def squeeze(text):
    blanks = "".join(" " if c in SPACE else c for c in text)
    return " ".join(word for word in blanks.split(" ") if word)


def lines(path):
    """Lines end at LF alone; one CR before it belongs to no line."""
    with open(path, "rb") as file:
        data = file.read()
    data = data[3:] if data.startswith(b"\xef\xbb\xbf") else data
    rows = data.split(b"\n")
    if rows[-1] == b"":
        rows.pop()
    return [row[:-1] if row.endswith(b"\r") else row for row in rows]


def keep(pair, factored):
    """The cleaned pair, or None."""
    try:
        texts = [raw.decode("utf-8") for raw in pair]
    except UnicodeDecodeError:
        return None
    if not factored:
        texts = [text.replace("|", "") for text in texts]
    texts = [squeeze(text) for text in texts]
    counts = [len(text.split(" ")) if text else 0 for text in texts]
    if min(counts) < 1 or max(counts) > 80 or max(counts) > 9 * min(counts):
        return None
    for text in texts:
        if any(len(factor) > 1000 for word in text.split(" ") for factor in word.split("|")):
            return None
        if factored and ("||" in text or " |" in text):
            return None
    return texts


def clean(source, target, out_source, out_target):
    rows = list(zip(lines(source), lines(target), strict=True))
    factored = any(b"|" in raw for raw in rows[0])
    with open(out_source, "wb") as a, open(out_target, "wb") as b:
        for pair in rows:
            kept = keep(pair, factored)
            if kept:
                a.write(kept[0].encode("utf-8") + b"\n")
                b.write(kept[1].encode("utf-8") + b"\n")


if sys.argv[1:2] == ["make"] and len(sys.argv) == 6:
    make(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5])
elif sys.argv[1:2] == ["clean"] and len(sys.argv) == 6:
    clean(*sys.argv[2:])
else:
    sys.exit(__doc__)
