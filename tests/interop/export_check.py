"""Does the program that a directory was exported for say what Ferry says?

usage: export_check.py FERRY PROGRAM MODEL DIR SOURCES TARGETS [OPTION...]

PROGRAM (ctranslate2, huggingface or marian) translates every line of SOURCES with DIR, the
likeliest token each time, and so does Ferry with MODEL, which DIR was exported from. At
least 99 % must be the same. Translations that both ended have the same log-probability to
1e-3, and so have the lines of TARGETS, where the program can score them. OPTION: bos, where
sentences begin with <s>; loose=X, another bound for log-probabilities.
"""
import subprocess
import sys

import sentencepiece

LONGEST = 48  # tokens of a translation


class CTranslate2:
    def __init__(self, directory, source, target, bos):
        import ctranslate2

        self.source, self.target = source, target
        self.begin = ["<s>"] if bos else []
        self.program = ctranslate2.Translator(directory)

    def translate(self, lines):
        found = self.program.translate_batch(
            [self.source.encode(text, out_type=str) for text in lines], beam_size=1, length_penalty=0,
            return_scores=True, max_decoding_length=LONGEST, min_decoding_length=0)
        for one in found:
            yield self.target.decode(one.hypotheses[0]), one.scores[0], len(one.hypotheses[0]) < LONGEST

    def score(self, lines, targets):
        found = self.program.score_batch(
            [self.source.encode(text, out_type=str) for text in lines],
            [self.begin + self.target.encode(text, out_type=str) for text in targets])
        return [sum(one.log_probs) for one in found]


class HuggingFace:
    def __init__(self, directory, source, target, bos):
        import torch
        from transformers import AutoModelForSeq2SeqLM, MarianTokenizer

        self.torch = torch
        torch.set_num_threads(1)
        self.program = AutoModelForSeq2SeqLM.from_pretrained(directory).eval()
        self.source, self.target, self.bos = source, target, bos
        self.tokenizer = None
        if self.program.config.model_type == "marian":
            self.tokenizer = MarianTokenizer.from_pretrained(directory)

    def ids(self, text):
        if self.tokenizer:
            return self.tokenizer(text).input_ids
        return self.source.encode(text, add_bos=self.bos, add_eos=True)

    def target_ids(self, text):
        if self.tokenizer:
            return self.tokenizer(text_target=text).input_ids
        return self.target.encode(text, add_bos=self.bos, add_eos=True)

    def text(self, ids):
        if self.tokenizer:
            return self.tokenizer.decode(ids, skip_special_tokens=True)
        return self.target.decode([i for i in ids if 4 <= i < self.target.vocab_size()])

    def log_probability(self, source, labels):
        start = self.program.config.decoder_start_token_id
        with self.torch.no_grad():
            logits = self.program(
                input_ids=self.torch.tensor([source]),
                decoder_input_ids=self.torch.tensor([[start] + labels[:-1]])).logits[0]
        likely = self.torch.log_softmax(logits.double(), -1)
        return likely[range(len(labels)), labels].sum().item()

    def generate(self, sources):
        longest = max(map(len, sources))
        pad = self.program.config.pad_token_id
        found = self.program.generate(
            self.torch.tensor([ids + [pad] * (longest - len(ids)) for ids in sources]),
            attention_mask=self.torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in sources]),
            num_beams=1, do_sample=False, max_new_tokens=LONGEST, max_length=None, forced_eos_token_id=None)
        for said in found[:, 1:].tolist():
            end = said.index(1) + 1 if 1 in said else len(said)
            yield said[:end]

    def translate(self, lines):
        batch = 50
        for first in range(0, len(lines), batch):
            sources = [self.ids(text) for text in lines[first : first + batch]]
            for ids, found in zip(sources, self.generate(sources)):
                yield self.text(found), self.log_probability(ids, found), found[-1] == 1

    def score(self, lines, targets):
        return [self.log_probability(self.ids(s), self.target_ids(t)) for s, t in zip(lines, targets)]


class Marian:
    def __init__(self, directory, source, target, _bos):
        import pymarian

        self.source, self.target = source, target
        self.program = pymarian.Translator(
            f"-c {directory}/decoder.yml --cpu-threads 1 --quiet --beam-size 1 --normalize 0 --n-best "
            "--max-length-factor 20")

    def translate(self, lines):
        found = self.program.translate("\n".join(" ".join(self.source.encode(text, out_type=str)) for text in lines))
        for line in found.splitlines():
            _number, pieces, features, _score = line.split(" ||| ")
            yield self.target.decode(pieces.split()), float(features.split()[1]), True

    def score(self, _lines, _targets):
        return None


def ferry(program, *arguments, text):
    done = subprocess.run([program, *arguments], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"export_check: {' '.join(arguments)}: {done.stderr}")
    return [line.split("\t") for line in done.stdout.splitlines()]


def common(a, b):
    """Are they the same, as far as both go?"""
    n = max(20, min(len(a), len(b)) - 8)  # the last piece may be cut
    return a == b or (n < min(len(a), len(b)) and a[:n] == b[:n])


def main():
    program, kind, model, directory, sources, targets = sys.argv[1:7]
    options = dict(option.partition("=")[::2] for option in sys.argv[7:])
    bound = float(options.get("loose", 1e-3))
    load = lambda name: sentencepiece.SentencePieceProcessor(model_file=f"{directory}/{name}")
    peer = {"ctranslate2": CTranslate2, "huggingface": HuggingFace, "marian": Marian}[kind](
        directory, load("source.spm"), load("target.spm"), "bos" in options)
    lines = open(sources, encoding="utf-8").read().splitlines()
    ours = ferry(program, "translate", model, "split=false", "greedy=true", "alpha=0", "scores=true", "min_length=0",
                 "max_repeats=0", "extra_decode_length=100", text="\n".join(lines) + "\n")
    same, worst, ended = 0, 0.0, 0
    for (mine, score), (theirs, their_score, is_whole) in zip(ours, peer.translate(lines), strict=True):
        same += common(mine, theirs)
        if mine == theirs and is_whole:
            ended += 1
            worst = max(worst, abs(float(score) - their_score))
    pairs = open(targets, encoding="utf-8").read().splitlines()[: len(lines)]
    given = peer.score(lines[: len(pairs)], pairs)
    far = None
    if given:
        scores = ferry(program, "score-pairs", model,
                       text="".join(f"{s}\t{t}\n" for s, t in zip(lines, pairs)))
        far = max(abs(float(ours[0]) - theirs) for ours, theirs in zip(scores, given, strict=True))
    print(f"{kind} {directory}: {same} of {len(lines)} the same, {ended} ended; log-probabilities to {worst:.1e}"
          + (f", of given targets to {far:.1e}" if given else ""))
    if same < 0.99 * len(lines) or not (ended or given) or max(worst, far or 0) > bound:
        sys.exit(1)


main()
