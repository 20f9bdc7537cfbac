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


# What tokenizers of all scripts, small letters and Tercom look at.
WIDER = WORDS + (
    "ΟΔΟΣ ΣΑΣ Σ ΑΣ. ΑΣ' 'ΑΣ ΑΣ:Α Α:Σ ΣΣ ͅΣ ªΣ İstanbul IĞDIR ǅ ẞ ⅣΣ Ⓐ ᾼ ϴ K Å Ꭰ Ა 𐐀 𝐀 "
    "、。 「東京」 【注】 ・ ！？ （東） ｡｢｣ ひらがな カタカナ ㇰ ㍿ ㈱ ㊗ ⺀ ㇀ ﹁ 㐀 䶵 龥 鿿 豈 𠀀 〇 〒 "
    "！ ＂ ： ； ， ． ｱ Ａ １ ２．５ 漢字kanji x東1 — ― ‘x’ “y” ‥ … ※ ‼ ⁄ ₂ € ™ ℃ ← ∑ ⌘ ─ ■ ☂ ✂ ⟨ ⠿ ⬛ "
    "John's 's dog's it's 'S \"'s 's. s' 1's ,. .5, 7- -7 2. 3, ٣، ۵٪ १। ¿qué? ¡no! «a» ·b· §1 ¶ "
    "🫠 🫨 🪿 🇩🇪 👩‍🚀 \u20c1 ؝ ⹃ \u1b7f 𞤢 ꜰ \u0301 a\u0308 \u0600 ​ a&quot;b &amp;lt; <b> x&gt; "
    "-\u2010- \u2011 \uff0d 1\u20132 a\u2014b 5\u00d74 2\u00f72 \u00ac \u00b4 \u02c6 \u0384 \u1fbd"
).split()


def wider_segments(rng, n_lines, n_refs):
    """As segments(), of WIDER, in some of them without blanks; whole blocks are moved."""
    words = rng.choice([WIDER, WIDER, WORDS, "a b c d e f".split(), "a b".split()])
    blank = rng.choice([" ", " ", " ", ""])

    def changed(line):
        out = [w if rng.random() < 0.85 else rng.choice(words) for w in line if rng.random() < 0.93]
        for _ in range(rng.choice([0, 0, 1, 2, 4])):
            at, n, to = rng.randrange(len(out) + 1), rng.randrange(1, 12), rng.randrange(len(out) + 1)
            block = out[at:at + n]
            del out[at:at + n]
            out[to:to] = block
        return [w.upper() if rng.random() < 0.05 else w for w in out]

    hyps, refs = [], [[] for _ in range(n_refs)]
    for _ in range(n_lines):
        line = [rng.choice(words) for _ in range(rng.choice([0, 1, 2, 3, 5, 8, 13, 30, 30, 80]))]
        hyps.append(blank.join(changed(line)))
        for i in range(n_refs):
            refs[i].append(blank.join(line if i == 0 else changed(line)))
    return hyps, refs
