#!/usr/bin/env python3
"""Write tests/data/spm_golden.json and spm_unigram.model with the Python sentencepiece.

    tools/golden_spm.py tests/data

The first holds a small corpus, the vocabulary that SentencePiece learns from it with the
ids and options of ours, and how it cuts and joins sentences. The second is a model of
another kind and numbering (unigram, unk 0, bos 1, eos 2, no pad).
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
    (folder / "spm_unigram.model").write_bytes(train(
        lines, model_type="unigram", vocab_size=120, normalization_rule_name="identity"))


if __name__ == "__main__":
    main(sys.argv[1])
