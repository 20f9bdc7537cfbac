#!/usr/bin/env python3
"""Write a corpus of the size and the shape of WMT16 English-German.

    bench/wmt_like.py OUT_PREFIX WORDS.en WORDS.de [--pairs 4500000] [--seed 1]

OUT_PREFIX.en and OUT_PREFIX.de get one line a pair, 4.5 million pairs being about 1.3 GB.
The words of the two text files (Multi30k and Tatoeba, say) come first by their own
frequency; behind them stands a long tail made of them by endings, compounds, capitals,
numbers, punctuation and names in other scripts, so that the number of different words
keeps growing with the text as it does in real text. The words of a line are drawn by
Zipf's law. The same arguments give the same bytes; lines are written as they are made.
"""
import argparse
import collections

import numpy

ENDINGS = {"en": ["s", "ed", "ing", "ly", "ness", "er", "ers", "able", "'s", "ment", "less", "ful"],
           "de": ["e", "en", "er", "es", "em", "ung", "ungen", "heit", "lich", "liche", "lichen",
                  "keit", "isch", "ische", "los", "bar", "st", "te", "ten"]}
MARKS = [",", ".", "?", "!", ":", ";", ")", "\"", "...", "%", ".\"", "\u201c", "\u2013", "\u2019s"]
STARTS = ["(", "\"", "\u201e", "\u00ab", "-", "'"]
OTHER_SCRIPTS = [(0x410, 64), (0x3B1, 25), (0x5D0, 27), (0x621, 42), (0x4E00, 3000), (0x3041, 83),
                 (0xC0, 320), (0x1F300, 500)]
TYPES = {"en": 2_000_000, "de": 4_000_000}
SHAPE = {"en": (22.5, 0.62), "de": (20.5, 0.62)}  # mean words of a line, spread
BLOCK = 50_000


def base_words(path):
    with open(path, encoding="utf-8") as lines:
        counts = collections.Counter(word for line in lines for word in line.split())
    return [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def pick(items, u):
    """One of the items by 0 <= u < 1, the first ones more often."""
    return items[int(len(items) * u * u)]


def foreign(u):
    low, n = OTHER_SCRIPTS[int(u[0] * len(OTHER_SCRIPTS))]
    return "".join(chr(low + int(n * x)) for x in u[1:2 + int(6 * u[0] * 8 % 6)])


def stem_word(u, bases, stems, endings):
    """A word of the tail, without marks; u holds seven numbers in [0, 1)."""
    kind, stem = u[0], pick(stems, u[1])
    if kind < 0.25:
        return stem + pick(endings, u[2])
    if kind < 0.60:
        return stem.capitalize() + pick(stems, u[3]) + (pick(endings, u[2]) if kind < 0.45 else "")
    if kind < 0.66:
        return stem.capitalize() + "-" + pick(stems, u[3]).capitalize()
    if kind < 0.74:
        return str(int(10 ** (6 * u[2]))) + ["", ".", ",5", "th", "-" + stem, "/2009", ".000"][int(7 * u[3])]
    if kind < 0.76:
        return foreign(u[1:])
    return pick(bases, u[2]).strip(".,!?")


def vocabulary(path, language, seed, n_types):
    """Different words, the frequent ones first."""
    rng = numpy.random.default_rng([seed, ord(language[0])])
    bases = base_words(path)
    stems = [w.lower() for w in bases if w.isalpha() and len(w) > 2]
    known = dict.fromkeys(bases)
    while len(known) < n_types:
        for u in rng.random((BLOCK, 10)).tolist():
            word = stem_word(u, bases, stems, ENDINGS[language])
            if u[7] < 0.35:
                word += pick(MARKS, u[8])
            if u[9] < 0.06:
                word = STARTS[int(u[9] * 16 * len(STARTS))] + word
            known[word or "-"] = None
    return [w.encode() for w in known][:n_types]


def write(path, words, language, n_lines, seed):
    """The word of rank r has a chance that falls a little faster than 1 / (r + 2.7)."""
    rng = numpy.random.default_rng([seed, 7, ord(language[0])])
    mean, spread = SHAPE[language]
    top = numpy.log((len(words) + 2.7) / 2.7)
    with open(path, "wb") as out:
        for start in range(0, n_lines, BLOCK):
            n = min(BLOCK, n_lines - start)
            sizes = rng.lognormal(numpy.log(mean) - spread ** 2 / 2, spread, n)
            ends = numpy.cumsum(numpy.clip(sizes.astype(int), 1, 80))
            ranks = 2.7 * numpy.exp(top * rng.random(int(ends[-1])) ** 1.2) - 2.7
            row = [words[r] for r in ranks.astype(int).tolist()]
            at, lines = 0, []
            for end in ends.tolist():
                lines.append(b" ".join(row[at:end]))
                at = end
            out.write(b"\n".join(lines) + b"\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("out")
    parser.add_argument("words_en")
    parser.add_argument("words_de")
    parser.add_argument("--pairs", type=int, default=4_500_000)
    parser.add_argument("--seed", type=int, default=1)
    o = parser.parse_args()
    for language, path in (("en", o.words_en), ("de", o.words_de)):
        words = vocabulary(path, language, o.seed, TYPES[language])
        write(f"{o.out}.{language}", words, language, o.pairs, o.seed)


if __name__ == "__main__":
    main()
