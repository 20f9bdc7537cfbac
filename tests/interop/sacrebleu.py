#!/usr/bin/env python3
"""`ferry score` against live sacreBLEU on fresh random segments, line for line.

    tests/interop/sacrebleu.py path/to/ferry [cases] [seed]
"""

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
    from sacrebleu.metrics import BLEU, CHRF
except ImportError:
    print("sacrebleu: SKIPPED, the Python package sacrebleu is not installed")
    sys.exit(0)

from bleu_cases import segments

HOW = [
    ({"smooth_method": "exp"}, []),
    ({"smooth_method": "none"}, ["smooth=none"]),
    ({"smooth_method": "floor"}, ["smooth=floor"]),
    ({"smooth_method": "add-k", "smooth_value": 0.25}, ["smooth=add-k", "smooth_value=0.25"]),
    ({"smooth_method": "exp", "tokenize": "none"}, ["tokenize=none"]),
    ({"smooth_method": "exp", "effective_order": True}, ["--effective-order"]),
]
HOW_CHRF = [
    ({}, ["metric=chrf"]),
    ({"word_order": 2}, ["metric=chrf++"]),
    ({"char_order": 4, "word_order": 1, "beta": 3},
     ["metric=chrf", "chrf_char_order=4", "chrf_word_order=1", "chrf_beta=3"]),
    ({"whitespace": True}, ["metric=chrf", "--chrf-whitespace"]),
    ({"eps_smoothing": True}, ["metric=chrf", "--chrf-eps-smoothing"]),
]


def write(path, lines):
    path.write_bytes("".join(line + "\n" for line in lines).encode())
    return str(path)


def ferry(binary, refs, hyp, flags):
    done = subprocess.run([binary, "score", *refs, hyp, *flags], capture_output=True, check=True)
    return done.stdout.decode()


def expected(metric, hyps, refs, form):
    if form == "sentence":
        scores = [metric.sentence_score(h, list(r)) for h, *r in zip(hyps, *refs)]
    else:
        scores = [metric.corpus_score(hyps, refs)]
    signature = metric.get_signature().format()
    return "".join(s.format(2, False, signature, form == "json") + "\n" for s in scores)


def main(binary, n_cases=300, seed=None):
    seed = int(time.time()) if seed is None else seed
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        for i in range(n_cases):
            hyps, refs = segments(rng, rng.choice([1, 2, 5, 20, 60]), rng.choice([1, 1, 1, 2, 3]))
            form = ["text", "text", "json", "sentence"][i % 4]
            how, flags = rng.choice(HOW + HOW_CHRF)
            is_bleu = (how, flags) in HOW
            if form == "sentence" and is_bleu:
                how = {**how, "effective_order": True}
            flags = flags + ([] if form == "text" else ["--" + form])
            paths = [write(tmp / f"ref{k}", r) for k, r in enumerate(refs)]
            got = ferry(binary, paths, write(tmp / "hyp", hyps), flags)
            hyps, refs = [[h.rstrip() for h in hyps], [[s.rstrip() for s in r] for r in refs]]  # as its command
            want = expected(BLEU(force=True, **how) if is_bleu else CHRF(**how), hyps, refs, form)
            if got != want:
                print(f"sacrebleu: case {i} of seed {seed}, {flags}:\n got  {got}\n want {want}")
                return 1
    print(f"sacrebleu: {n_cases} random cases print as sacreBLEU {sacrebleu.__version__} (seed {seed})")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
