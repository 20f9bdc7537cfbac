#!/usr/bin/env python3
"""`ferry score` against live sacreBLEU on fresh random segments, line for line: scores of every metric, tokenizer
and option, intervals, and tests between systems.

    tests/interop/sacrebleu.py path/to/ferry [cases] [seed]
"""

import collections
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != HERE]  # our own name
sys.path.append(str(HERE.parent.parent / "tools"))

try:
    import sacrebleu
    from sacrebleu.metrics import BLEU, CHRF, TER
    from sacrebleu.significance import PairedTest
except ImportError:
    print("sacrebleu: SKIPPED, the Python package sacrebleu is not installed")
    sys.exit(0)

from bleu_cases import segments, wider_segments


def bleu(rng):
    """A metric with random options, and ours."""
    smooth = rng.choice([("exp", None), ("none", None), ("floor", None), ("floor", 0.03), ("add-k", None), ("add-k", 0.25)])
    how = {"smooth_method": smooth[0], "tokenize": rng.choice(["13a", "none", "intl", "char", "zh"]),
           "lowercase": rng.random() < 0.3, "effective_order": rng.random() < 0.3}
    flags = [f"smooth={smooth[0]}", "tokenize=" + how["tokenize"]]
    if smooth[1]:
        how["smooth_value"] = smooth[1]
        flags.append(f"smooth_value={smooth[1]}")
    flags += ["--lowercase"] * how["lowercase"] + ["--effective-order"] * how["effective_order"]
    return BLEU(force=True, **how), flags


def chrf(rng):
    how = {"char_order": rng.choice([6, 6, 1, 4]), "word_order": rng.choice([0, 2, 2, 1]), "beta": rng.choice([2, 2, 1, 3]),
           "lowercase": rng.random() < 0.3, "whitespace": rng.random() < 0.3, "eps_smoothing": rng.random() < 0.3}
    flags = [f"metric={rng.choice(['chrf', 'chrf++'])}"]
    flags += [f"chrf_{name}={how[name]}" for name in ("char_order", "word_order", "beta")]
    flags += [f"{name}=true" for name, flag in (("lowercase", "lowercase"), ("chrf_whitespace", "whitespace"),
                                                ("chrf_eps_smoothing", "eps_smoothing")) if how[flag]]
    return CHRF(**how), flags


def ter(rng):
    how = {name: rng.random() < 0.5 for name in ("normalized", "no_punct", "asian_support", "case_sensitive")}
    return TER(**how), ["metric=ter"] + [f"--ter-{name.replace('_', '-')}" for name in how if how[name]]


def write(path, lines):
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    return str(path)


def scores(rng, metric, hyps, refs, _):
    """Flags and what sacreBLEU prints, for a score of the file or of its lines."""
    form, width = rng.choice(["text", "text", "json", "sentence"]), rng.choice([1, 2, 2, 4])
    if form == "sentence":
        if isinstance(metric, BLEU):
            metric.effective_order = True
        found = [metric.sentence_score(h, list(r)) for h, *r in zip(hyps, *refs)]
    else:
        found = [metric.corpus_score(hyps, refs)]
    short = rng.random() < 0.2
    signature = metric.get_signature().format(short and form != "json")
    flags = [f"width={width}"] + ([] if form == "text" else ["--" + form]) + ["--short-signature"] * short
    return flags, "".join(s.format(width, False, signature, form == "json") + "\n" for s in found)


def confidence(rng, metric, hyps, refs, _):
    trials, seed, form = rng.choice([2, 40, 41, 300]), rng.choice([12345, 1, 2**40 + 7]), rng.choice(["text", "json"])
    os.environ["SACREBLEU_SEED"] = str(seed)
    flags = ["--confidence", f"trials={trials}", f"seed={seed}", "width=4"] + ["--json"] * (form == "json")
    try:
        score = metric.corpus_score(hyps, refs, n_bootstrap=trials)
    except TypeError:  # some of its scores are numbers of Python and some of NumPy
        return flags, None
    return flags, score.format(4, False, metric.get_signature().format(), form == "json") + "\n"


def paired(rng, metric, hyps, refs, others):
    """Two or three systems; as sacreBLEU's table has the numbers, but one line for each."""
    kind, seed, width = rng.choice(["bs", "ar"]), rng.choice([12345, 12345, 7]), 4
    trials, also = rng.choice([40, 130, 300]), kind == "ar" and rng.random() < 0.4
    os.environ["SACREBLEU_SEED"] = str(seed)
    metric._ref_cache = metric._cache_references(refs)
    systems = [("Baseline: ", hyps)] + [(str(i), o) for i, o in enumerate(others)]
    test = PairedTest(systems, {"x": metric}, None, kind, trials, 1000 if also else -1)
    signatures, found = test()
    name = next(iter(signatures))
    short = rng.random() < 0.2
    lines = [f"{name}|{signatures[name].format(short)}"]
    for i, r in enumerate(found[name]):
        line = f"{'Baseline: ' if i == 0 else ''}%{i} = {r.score:.{width}f}"
        if r.mean is not None:
            line += f" ({r.mean:.{width}f} ± {r.ci:.{width}f})"
        if i:
            line += f" (p = {r.p_value:.4f})" + ("" if r.p_value > 0.05 else "*")
        lines.append(line)
    flags = [f"test={'bootstrap' if kind == 'bs' else 'randomisation'}", f"trials={trials}", f"seed={seed}",
             f"width={width}"] + ["--confidence"] * also + ["--short-signature"] * short
    return flags, "\n".join(lines) + "\n"


def draw(rng, metric):
    """Stripped, as by its command. Its TER is slow."""
    n_lines, n_refs = rng.choice([1, 2, 5, 9, 9] if isinstance(metric, TER) else [1, 2, 5, 20, 60]), rng.choice([1, 1, 1, 2, 4])
    hyps, refs = rng.choice([segments, wider_segments])(rng, n_lines, n_refs)
    others = [[w if rng.random() < 0.7 else r for w, r in zip(hyps, rng.choice(refs))] for _ in range(rng.choice([1, 2]))]
    strip = lambda lines: [line.rstrip() for line in lines]
    return strip(hyps), [strip(r) for r in refs], [strip(o) for o in others]


def main(binary, n_cases=1000, seed=None):
    seed = int(time.time()) if seed is None else seed
    rng = random.Random(seed)
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        for i in range(n_cases):
            metric, flags = rng.choice([bleu, chrf, ter])(rng)
            hyps, refs, others = draw(rng, metric)
            what = rng.choice([scores, scores, confidence, paired])
            more, want = what(rng, metric, hyps, refs, others)
            words = [write(tmp / f"ref{k}", r) for k, r in enumerate(refs)] + [write(tmp / "hyp", hyps)]
            if what is paired:
                paths = [write(tmp / f"other{k}", o) for k, o in enumerate(others)]
                more.append("against=" + ",".join(paths))
                for k, path in enumerate([words[-1]] + paths):
                    want = want.replace(f"%{k} =", f"{path} =")
            done = subprocess.run([binary, "score", *words, *flags, *more], capture_output=True, check=True)
            if want is not None and done.stdout.decode() != want:
                print(f"sacrebleu: case {i} of seed {seed}, {flags + more}:\n got  {done.stdout.decode()}\n want {want}")
                return 1
            counts[f"{what.__name__} {type(metric).__name__}" if want else "no answer of sacreBLEU"] += 1
    print(f"sacrebleu: {n_cases} random cases print as sacreBLEU {sacrebleu.__version__} (seed {seed}): "
          + ", ".join(f"{n} {name}" for name, n in sorted(counts.items())))
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
