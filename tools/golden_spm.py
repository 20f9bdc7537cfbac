#!/usr/bin/env python3
"""Write tests/data/spm_golden.json, spm_learned.json and spm_unigram.model with the Python
sentencepiece, version 0.2.2 or later.

    tools/golden_spm.py tests/data

The first holds a small corpus, the vocabulary that SentencePiece learns from it with the
ids and options of ours, and how it cuts and joins sentences. The second holds many tiny
corpora full of ties, repetitions and mixed scripts, and the pieces learned from each. The
third is a model of another kind and numbering (unigram, unk 0, bos 1, eos 2, no pad).
"""

import io
import json
import pathlib
import random
import sys

import sentencepiece as spm

STEMS = "fähre fluss hafen boot wasser brücke ufer reise kapitän nebel ferry river harbour boat water bridge".split()
ENDS = ["", "n", "s", "en", "e", "ing", "ed", "ly", "chen"]
MARKS = [".", ",", "!", "?", ";", " –", " (", ")", " 12", " 1,5", " 2024"]

SAMPLES = [
    "", " ", "fähre", "Die Fähre über den Fluss.", "ferry boats  cross\tthe river",
    "unseen Ж characters 東京 🙂", "ﬁne ligatures and ½", "\u3000ideographic\u3000space ",
    "xyzzy", "<s> </s> <pad> <unk>", "▁ already", "e\u0301 composed", "soft\u00adhyphen",
    "a" * 300, "zero\u200bwidth", "1,5 2024", "nul\x00inside",
]


def corpus(rng, n_lines):
    lines = []
    for _ in range(n_lines):
        words = [rng.choice(STEMS) + rng.choice(ENDS) for _ in range(rng.randrange(2, 9))]
        words[0] = words[0].capitalize()
        lines.append(" ".join(words) + rng.choice(MARKS))
    return lines


# What a tiny corpus draws its words from.
ALPHABETS = ["ab", "aaab", "abc", "abcdefgh", "ab12,.", "aб中ひカー", "ae\u0301\u0308o\u0300\u0483",
             "אבגab", "กขค1", "ＡＢab①", "a<s>/unkpad", "x\u2581y", "a\u00adb\u200bc", "🙂🚢a\ufe0f\u200d",
             "\u0958\u09dcक", "\u0589\u061cab", "\u20bf\u1c80a\U0001fae0", "ſtﬁﬀ", "가각ᄀ", "a\u0953\u0954ब"]


def tiny_corpus(rng, i):
    letters = ALPHABETS[i % len(ALPHABETS)]
    lines = []
    for _ in range(rng.randrange(1, 30)):
        words = ["".join(rng.choices(letters, k=rng.randrange(1, 9))) for _ in range(rng.randrange(1, 6))]
        lines.append(" ".join(words * rng.randrange(1, 3)))
    if i % 7 == 0:
        lines += [rng.choice(letters) * 40, "  ", "\u2585 reserved", "<s>a</s><unk> <pad>b<s", "z" * 5000]
    return lines


def learned(rng, i):
    """A corpus and all that can be learned from it, or only a part."""
    lines = tiny_corpus(rng, i)
    options = dict(model_type="bpe", pad_id=0, eos_id=1, bos_id=2, unk_id=3, character_coverage=1.0,
                   hard_vocab_limit=False)
    most = spm.SentencePieceProcessor(model_proto=train(lines, vocab_size=2000, **options))
    pieces = [most.id_to_piece(k) for k in range(most.get_piece_size())]
    if i % 3:  # stop in the middle: the merges that come first are the first ones learned
        n_chars = sum(len(p) == 1 for p in pieces)
        size = 4 + n_chars + rng.randrange(len(pieces) - 4 - n_chars + 1)
        some = spm.SentencePieceProcessor(model_proto=train(lines, vocab_size=size, **options))
        pieces = [some.id_to_piece(k) for k in range(some.get_piece_size())]
    return {"lines": lines, "pieces": pieces}


def train(lines, **options):
    out = io.BytesIO()
    spm.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=out,
                                   minloglevel=3, **options)
    return out.getvalue()


def main(folder):
    folder, rng = pathlib.Path(folder), random.Random(7)
    lines = corpus(rng, 120)
    model = spm.SentencePieceProcessor(model_proto=train(
        lines, model_type="bpe", vocab_size=150, pad_id=0, eos_id=1, bos_id=2, unk_id=3,
        character_coverage=1.0))
    samples = [{"text": t, "ids": model.encode(t), "back": model.decode(model.encode(t))}
               for t in SAMPLES + corpus(rng, 40)]
    vocab = [[model.id_to_piece(i), model.get_score(i)] for i in range(model.get_piece_size())]
    (folder / "spm_golden.json").write_text(
        json.dumps({"lines": lines, "vocab": vocab, "samples": samples}, indent=0) + "\n")
    (folder / "spm_learned.json").write_text(
        json.dumps([learned(rng, i) for i in range(100)], indent=0) + "\n")
    (folder / "spm_unigram.model").write_bytes(train(
        lines, model_type="unigram", vocab_size=120, normalization_rule_name="identity"))


if __name__ == "__main__":
    main(sys.argv[1])
