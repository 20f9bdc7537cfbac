#!/usr/bin/env python3
"""Write tests/data/score_cases.json: lines that sacreBLEU 2.6.0 cuts, and what it prints for scores of every kind,
intervals and tests between systems (with NumPy 2).

Run with a Python that has both: tools/golden_score.py tests/data/score_cases.json
"""

import json
import os
import random
import sys

from bleu_cases import SPACES, WIDER, wider_segments

import numpy
import sacrebleu
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest
from sacrebleu.tokenizers import tokenizer_char, tokenizer_intl, tokenizer_ter, tokenizer_zh

SHIFTS = [  # hypothesis, reference
    ("", ""), ("a", ""), ("", "a b"), ("a b c", "a b c"), ("b a", "a b"), ("c d a b", "a b c d"), ("d a b c", "a b c d"),
    ("a b c d e f g h i j k l", "l a b c d e f g h i j k"), ("x a b c y", "a b c x y z"), ("a a a b", "b a a a"),
    ("a b " * 30, "b a " * 30), ("a " * 120 + "b", "b " + "a " * 120), ("a b c d " * 20, "d c b a " * 21),
    ("a", "b " * 200 + "a"), ("a b", "x " * 300), ("x " * 300, "a b"), ("x y " * 200, "x"),
    (" ".join(map(str, range(120))), " ".join(map(str, [*range(60, 120), *range(60)]))),
    (" ".join(map(str, range(80))), " ".join(map(str, [*range(30, 80), *range(30)]))),
    (" ".join(map(str, range(90))), " ".join(map(str, [i ^ 1 for i in range(90)]))),
]


def words(n, name):
    return [f"{name}{i}" for i in range(n)]


def at_the_limits():
    """Of the length of a block, of its way, of the band and of the attempts."""
    cases = [(words(45, "b") + words(n, "a"), words(n, "a") + words(45, "b")) for n in (9, 10, 11, 12)]
    cases += [(words(n, "b") + words(2, "a"), words(2, "a") + words(n, "b")) for n in (49, 50, 51, 52)]
    cases += [(words(n, "x") + words(60, "c"), words(60, "c") + words(n, "y")) for n in range(23, 28)]
    rng = random.Random(7)
    cases += [[[rng.choice("abcdefgh"[:2 + i % 5]) for _ in range(n)] for n in (70 + 2 * i, 100 - i)] for i in range(40)]
    return [(" ".join(h), " ".join(r)) for h, r in cases]


def cut_twice():
    """Lines that Tercom's tokenizer changes again."""
    rng, cut = random.Random(7), tokenizer_ter.TercomTokenizer(True)
    lines = ["".join(rng.choice(WIDER) for _ in range(6)) for _ in range(3000)]
    lines = [line for line in lines if cut(line) != cut(cut(line))][:8]
    assert len(lines) == 8
    return lines, [lines]


def lines_of(rng):
    lines = list(WIDER)
    for _ in range(120):
        lines.append("".join(rng.choice(WIDER) + rng.choice(SPACES + [" "] * 20) for _ in range(rng.randrange(1, 9))))
    return lines + ["a\n-b\nc", " 　x　 ", "'s", "x's \n", " .5", "Σ", "ΑΣ", "ΑΣ..:", "Α" + "'" * 50 + "Σ", "\u2018Σ\u2019 ΑΣ\u2019"]


def tokens(rng):
    cut = {"intl": tokenizer_intl.TokenizerV14International(), "char": tokenizer_char.TokenizerChar(),
           "zh": tokenizer_zh.TokenizerZh()}
    return [{"text": text, **{name: " ".join(f(text.rstrip()).split()) for name, f in cut.items()}} for text in lines_of(rng)]


def tercom(rng):
    """Bits of the options: normalized, no_punct, asian_support, case_sensitive."""
    cut = [tokenizer_ter.TercomTokenizer(*[bool(bits & 1 << i) for i in range(4)]) for bits in range(16)]
    return [{"text": text, "bits": i % 16, "want": cut[i % 16](text.rstrip())} for i, text in enumerate(lines_of(rng) * 2)]


def metrics(rng):
    kind = rng.choice([BLEU, CHRF, TER])
    if kind is TER:
        how = {name: rng.random() < 0.5 for name in ("normalized", "no_punct", "asian_support", "case_sensitive")}
        return TER(**how), how
    how = {"lowercase": rng.random() < 0.5}
    if kind is BLEU:
        how |= {"tokenize": rng.choice(["13a", "none", "intl", "char", "zh"]), "effective_order": rng.random() < 0.3,
                "smooth_method": rng.choice(["exp", "none", "floor", "add-k"])}
        if how["smooth_method"] in ("floor", "add-k") and rng.random() < 0.5:
            how["smooth_value"] = 0.25
        return BLEU(force=True, **how), how
    how |= {"char_order": rng.choice([6, 2]), "word_order": rng.choice([0, 2]), "beta": rng.choice([2, 3]),
            "whitespace": rng.random() < 0.3, "eps_smoothing": rng.random() < 0.3}
    return CHRF(**how), how


def score_case(rng, metric, how, segments=None):
    hyps, refs = segments or wider_segments(rng, rng.choice([1, 2, 4]), rng.choice([1, 1, 2, 3]))
    score = metric.corpus_score(hyps, refs)
    return {"metric": type(metric).__name__, "how": how, "hyp": hyps, "refs": refs,
            "want": score.format(6, False, metric.get_signature().format())}


def interval_case(rng, metric, how):
    """None where some of its scores are numbers of Python and some of NumPy: it has no mean of them."""
    hyps, refs = wider_segments(rng, rng.choice([1, 3, 8, 20]), rng.choice([1, 2, 3]))
    trials = rng.choice([2, 40, 130, 300])
    os.environ["SACREBLEU_SEED"] = seed = str(rng.choice([12345, 1, 2**40 + 7]))
    try:
        score = metric.corpus_score(hyps, refs, n_bootstrap=trials)
    except TypeError:
        return None
    return {"metric": type(metric).__name__, "how": how, "hyp": hyps, "refs": refs, "trials": trials, "seed": int(seed),
            "want": [float(score.score), float(score._mean), float(score._ci)]}


def paired_case(rng, metric, how, i):
    hyps, refs = wider_segments(rng, rng.choice([1, 3, 8]), rng.choice([1, 2]))
    other = [h if rng.random() < 0.6 else r for h, r in zip(hyps, rng.choice(refs))]
    trials, kind = rng.choice([40, 130, 300]), "ba"[i % 2] + "sr"[i % 2]
    os.environ["SACREBLEU_SEED"] = seed = str(rng.choice([12345, 7]))
    metric._ref_cache = metric._cache_references(refs)
    also = 1000 if kind == "ar" and rng.random() < 0.3 else -1
    _, found = PairedTest([("a", hyps), ("b", other)], {"x": metric}, None, kind, trials, also)()
    results = found[list(found)[1]]
    numbers = [[None if x is None else float(x) for x in (r.score, r.mean, r.ci, r.p_value)] for r in results]
    return {"metric": type(metric).__name__, "how": how, "hyp": hyps, "refs": refs, "other": other, "trials": trials,
            "seed": int(seed), "shuffled": kind == "ar", "resamples": max(also, 0), "want": numbers}


def draws():
    g = numpy.random.default_rng(12345)
    cases = {"raw": [str(x) for x in g.bit_generator.random_raw(6)], "below": [], "bits": []}
    for seed in (0, 1, 12345, 2**32, 2**40 + 7):
        for n in (1, 2, 3, 10, 1000, 2**31 + 1, 2**32 - 1):
            g = numpy.random.default_rng(seed)
            cases["below"].append({"seed": seed, "n": n, "want": g.choice(n, size=(3, 3)).ravel().tolist()})
    g = numpy.random.default_rng(12345)
    bits = g.integers(2, size=(3, 25), dtype=bool).ravel().astype(int).tolist()
    return cases | {"bits": bits, "after_bits": g.choice(1000, size=5).tolist()}


def main(path):
    assert sacrebleu.__version__ == "2.6.0" and numpy.__version__ >= "2", (sacrebleu.__version__, numpy.__version__)
    rng = random.Random(20260101)
    shifts = [score_case(rng, TER(), {}, ([h.strip()], [[r.strip()]])) for h, r in SHIFTS + at_the_limits()]
    shifts.append(score_case(rng, TER(normalized=True), {"normalized": True}, cut_twice()))
    parts = {
        "tokens": tokens(rng), "tercom": tercom(rng), "draws": draws(),
        "scores": shifts + [score_case(rng, *metrics(rng)) for _ in range(160)],
        "intervals": [c for c in (interval_case(rng, *metrics(rng)) for _ in range(60)) if c],
        "paired": [paired_case(rng, *metrics(rng), i) for i in range(80)],
    }
    with open(path, "w", encoding="utf-8") as out:
        json.dump(parts, out, ensure_ascii=False, separators=(",", ":"))
        out.write("\n")
    print(f"{path}: " + ", ".join(f"{len(part)} {name}" for name, part in parts.items()))


if __name__ == "__main__":
    main(sys.argv[1])
