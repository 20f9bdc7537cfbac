#!/usr/bin/env python3
"""Write tests/data/bleu_cases.json: segments and what sacreBLEU 2.6.0 prints for them, BLEU and chrF.

Run with a Python that has sacrebleu 2.6.0: tools/golden_bleu.py tests/data/bleu_cases.json
"""

import json
import math
import random
import sys
from collections import Counter

from bleu_cases import SPACES, WORDS, line, segments

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

FIXED = [
    ("nothing at all", [""], [[""]]),
    ("empty hypothesis", [""], [["a b c d e"]]),
    ("empty reference", ["a b c d e"], [[""]]),
    ("one word, right", ["word"], [["word"]]),
    ("one word, wrong", ["word"], [["other"]]),
    ("two words", ["two words"], [["two words"]]),
    ("three words", ["three right words"], [["three right words"]]),
    ("four words", ["four words are right"], [["four words are right"]]),
    ("no match", ["a b c d e f"], [["u v w x y z"]]),
    ("unigram matches only", ["a b c d e f"], [["f d b a c e"]]),
    ("clipping", ["the the the the the the the"], [["the cat is on the mat"]]),
    ("repeated bigrams", ["a b a b a b a b"], [["a b a b"]]),
    ("blank lines between", ["", "a b c d", "", "e f g h i"], [["", "a b c d", "", "e f g h"]]),
    ("all blank lines", ["", " ", "\t"], [["", "", ""]]),
    ("trailing spaces", ["a b c d e   ", "f g h i\u3000"], [["a b c d e", "f g h i"]]),
    ("case", ["The Cat Sat On The Mat"], [["the cat sat on the mat"]]),
    ("entities", ["&quot;a&quot; &amp;lt; b &lt;c&gt;"], [["\"a\" < b <c>"]]),
    ("skipped", ["a <skipped> b c d", "<skipped>"], [["a b c d", "x"]]),
    ("newlines inside", ["a b-\nc d\ne f", "x-\n"], [["a bc d e f", "x-"]]),
    ("numbers", ["1,000.5 and 2.5% of 3-4"], [["1,000.5 and 2.5% of 3 - 4"]]),
    ("stops", ["a.b. c,d, 1.2. 3,4,"], [["a.b. c,d, 1.2. 3,4,"]]),
    ("stops in a row", ["a... b,,, .,., 1.., 2,,"], [["a ... b ,,, .,., 1.., 2,,"]]),
    ("final stop", ["It is so."], [["It is so ."]]),
    ("hyphens", ["10-year 5-6-7 well-known -1"], [["10 - year 5 - 6 - 7 well-known -1"]]),
    ("Greek question mark and dashes", ["ναι; όχι – ναι — ίσως"], [["ναι; όχι – ναι — ίσως"]]),
    ("composed and not", ["café Männer ist"], [["cafe\u0301 Ma\u0308nner ist"]]),
    ("byte order mark", ["\ufeffa b c d e"], [["a b c d e"]]),
    ("NUL inside", ["a\x00b c d e"], [["a\x00b c d e"]]),
    ("long line", [" ".join(str(i % 97) for i in range(3000))],
     [[" ".join(str(i % 89) for i in range(2900))]]),
    ("long words", ["x" * 5000 + " y z w v"], [["x" * 5000 + " y z w u"]]),
    ("shorter hypothesis", ["a b c d"], [["a b c d e f g h i j"]]),
    ("closest length, tie to the shorter", ["a b c d"], [["a b c"], ["a b c d e"]]),
    ("best reference for each n-gram", ["a a b b c"], [["a a b x y"], ["a b b c z"]]),
]

HOW = [
    {"smooth_method": "exp"},
    {"smooth_method": "none"},
    {"smooth_method": "floor"},
    {"smooth_method": "floor", "smooth_value": 0.03},
    {"smooth_method": "add-k"},
    {"smooth_method": "add-k", "smooth_value": 0.5},
    {"smooth_method": "exp", "effective_order": True},
    {"smooth_method": "none", "effective_order": True},
    {"smooth_method": "exp", "tokenize": "none"},
    {"smooth_method": "add-k", "tokenize": "none", "effective_order": True},
]

HOW_CHRF = [
    {},
    {"word_order": 2},
    {"char_order": 3, "word_order": 1, "beta": 1},
    {"whitespace": True},
    {"eps_smoothing": True},
    {"word_order": 2, "eps_smoothing": True, "whitespace": True, "beta": 3},
]


def score_case(name, hyps, refs, how):
    metric = BLEU(force=True, **how)
    score = metric.corpus_score(hyps, refs)
    return {
        "name": name,
        "tokenize": how.get("tokenize", "13a"),
        "smooth": how["smooth_method"],
        "smooth_value": how.get("smooth_value", 0),
        "effective_order": how.get("effective_order", False),
        "hyp": hyps,
        "refs": refs,
        "want": score.format(width=2, signature=metric.get_signature().format()),
    }


def chrf_case(name, hyps, refs, how):
    metric = CHRF(**how)
    score = metric.corpus_score(hyps, refs)
    return {
        "name": name,
        "char_order": how.get("char_order", 6),
        "word_order": how.get("word_order", 0),
        "beta": how.get("beta", 2),
        "whitespace": how.get("whitespace", False),
        "eps_smoothing": how.get("eps_smoothing", False),
        "hyp": hyps,
        "refs": refs,
        "want": score.format(6, False, metric.get_signature().format()),
    }


def nltk_bleu(refs, hyps):
    """NLTK 3.2's corpus_bleu(..., emulate_multibleu=True) for one reference each."""
    match, total, c, r = Counter(), Counter(), 0, 0
    for ref, hyp in zip(refs, hyps):
        for n in range(1, 5):
            grams = [Counter(tuple(s[i:i + n]) for i in range(len(s) - n + 1)) for s in (hyp, ref)]
            match[n] += sum((grams[0] & grams[1]).values())
            total[n] += max(1, sum(grams[0].values()))
        c, r = c + len(hyp), r + len(ref)
    if not all(match[n] for n in range(1, 5)):
        return 0.0
    bp = 1 if c > r else math.exp(1 - r / c)
    return round(bp * math.exp(math.fsum(math.log(match[n] / total[n]) / 4 for n in range(1, 5))), 4)


def nltk_case(rng):
    refs = [[rng.randrange(12) for _ in range(rng.randrange(12))] for _ in range(rng.randrange(1, 9))]
    hyps = [[w if rng.random() < 0.85 else rng.randrange(12) for w in ref if rng.random() < 0.95]
            for ref in refs]
    return {"hyp": hyps, "ref": refs, "want": nltk_bleu(refs, hyps)}


def main(path):
    assert sacrebleu.__version__ == "2.6.0", sacrebleu.__version__
    rng = random.Random(20170612)
    cases = [score_case(name, hyps, refs, HOW[0]) for name, hyps, refs in FIXED]
    for i, (name, hyps, refs) in enumerate(FIXED):
        if sum(map(len, hyps)) < 1000:
            cases.append(score_case(name + ", otherwise", hyps, refs, HOW[1 + i % (len(HOW) - 1)]))
    for i in range(300):
        hyps, refs = segments(rng, rng.choice([1, 2, 4, 6]), rng.choice([1, 1, 1, 2, 3]))
        cases.append(score_case(f"random {i}", hyps, refs, HOW[i % len(HOW)]))
    cut, lines = Tokenizer13a(), [w for w in WORDS]
    lines += [line(rng, rng.randrange(1, 9), SPACES) for _ in range(150)]
    tokens = [{"text": text, "want": cut(text.rstrip())} for text in lines]
    nltk = [nltk_case(rng) for _ in range(40)]
    chrf = [chrf_case(name, hyps, refs, HOW_CHRF[i % len(HOW_CHRF)]) for i, (name, hyps, refs) in enumerate(FIXED)]
    for i in range(120):
        hyps, refs = segments(rng, rng.choice([1, 2, 4, 6]), rng.choice([1, 1, 1, 2, 3]))
        chrf.append(chrf_case(f"random {i}", hyps, refs, HOW_CHRF[i % len(HOW_CHRF)]))
    with open(path, "w", encoding="ascii") as out:
        json.dump({"bleu": cases, "tokens": tokens, "nltk": nltk, "chrf": chrf}, out, indent=0)
        out.write("\n")
    print(f"{path}: {len(cases)} scores, {len(tokens)} lines, {len(nltk)} NLTK scores, {len(chrf)} of chrF")


if __name__ == "__main__":
    main(sys.argv[1])
