"""Segments on which a re-implementation of sacreBLEU is likely to differ from it.

Used by golden_bleu.py, which freezes some, and by tests/interop/sacrebleu.py, which
draws fresh ones.
"""

WORDS = (
    "the a of to and cat mat sat on dog house river ferry crosses water quickly "
    "über Straße naïve café Москва река 東京 日本 🙂 é ß Ä ﬁ ² ½ Ⅳ ٣ "
    "1 23 4.5 6,7 1,000,000 3.14. 2-3 -4 5- x-1 e.g. U.S. i.e., don't 'tis o'clock "
    "&quot; &amp; &lt; &gt; &amp;lt; &amp;quot; &apos; & &amp &amp;amp; <skipped> <skip "
    "<skip<skipped>ped> ... .. . , ,, ., ,. 1. .1 1.a a.1 1,a a,1 1.,2 - -- --- 1-- a-b "
    "! ? : ; ( ) [ ] { } / \\ | ~ ` ^ _ * + = < > @ # $ % \" ' “q” „z“ — – … €5 £ "
    "http://a.b/c?d=e#f x@y.org C++ a/b 50% #1 $5.00 10:30 (a,b) f(x)=y; \u00ad \u200b \ufeff"
).split()

# Everything that Python splits at, and a few that look as if it did.
SPACES = [
    " ", " ", " ", " ", " ", " ", "  ", "\t", "\u00a0", "\u2003", "\u3000", "\u2028", "\u2029",
    "\u0085", "\x1c", "\x1d", "\x1e", "\x1f", "\x0b", "\x0c", "\r", "\u1680", "\u202f", "\u205f",
    "\u200b", "\u180e", "\x00", "\x08", "",
]


def line(rng, n_words, spaces):
    """A line of about n_words words joined by the given kinds of space."""
    text = "".join(rng.choice(WORDS) + rng.choice(spaces) for _ in range(n_words))
    if rng.random() < 0.2:
        text = rng.choice(spaces) + text
    return text


def noisy(rng, text, spaces):
    """The same words with some dropped, doubled, swapped or replaced."""
    out = []
    for word in text.split():
        draw = rng.random()
        if draw < 0.1:
            continue
        if draw < 0.2:
            out.append(rng.choice(WORDS))
        if draw < 0.25 and out:
            out.insert(rng.randrange(len(out)), word)
            continue
        out.append(word)
        if draw > 0.9:
            out.append(word)
    return rng.choice([" ", " ", "  ", rng.choice(spaces) or " "]).join(out)


def segments(rng, n_lines, n_refs):
    """n_lines hypotheses and, for each of n_refs files, their references."""
    spaces = SPACES if rng.random() < 0.5 else [" "]
    hyps, refs = [], [[] for _ in range(n_refs)]
    for _ in range(n_lines):
        ref = line(rng, rng.choice([0, 1, 1, 2, 3, 4, 5, 8, 13, 30]), spaces)
        hyps.append(ref if rng.random() < 0.15 else noisy(rng, ref, spaces))
        for i in range(n_refs):
            refs[i].append(ref if i == 0 else noisy(rng, ref, spaces))
    if rng.random() < 0.1:
        hyps = [line(rng, 3, [" "]) for _ in hyps]
    return hyps, refs
