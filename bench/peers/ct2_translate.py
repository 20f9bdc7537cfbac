"""Translation speed of CTranslate2 on random weights: the peer of `ferry bench translate`.

The same shapes, sentences of random tokens and a fixed output length, so that nothing but speed is
measured. Two threads are given to one batch (intra_threads) or to two batches side by side
(inter_threads), whichever is faster. Prints one line of JSON a mode: the best of the repeats.
usage: ct2_translate.py --size S --beam K --batch B --length L --threads T --modes fp32,int8 --dir DIR
"""
import argparse
import json
import os
import time

import ctranslate2
import numpy as np
from ctranslate2.specs import transformer_spec

# width, inner width, heads, encoder and decoder layers, vocabulary
SIZES = {"base": (512, 2048, 8, 6, 6, 32768), "small": (256, 1024, 4, 3, 3, 8192), "tiny": (128, 256, 4, 4, 4, 10000),
         "student": (256, 1536, 8, 6, 2, 32000)}


def fill(layer, draw, d, f, has_cross):
    """Random weights for one layer, biases zero, gains one."""
    def norm(x):
        x.gamma, x.beta = np.ones(d, np.float32), np.zeros(d, np.float32)

    def linear(x, n_out, n_in):
        x.weight, x.bias = draw(n_out, n_in), np.zeros(n_out, np.float32)

    norm(layer.self_attention.layer_norm)
    linear(layer.self_attention.linear[0], 3 * d, d)
    linear(layer.self_attention.linear[1], d, d)
    if has_cross:
        norm(layer.attention.layer_norm)
        linear(layer.attention.linear[0], d, d)
        linear(layer.attention.linear[1], 2 * d, d)
        linear(layer.attention.linear[2], d, d)
    norm(layer.ffn.layer_norm)
    linear(layer.ffn.linear_0, f, d)
    linear(layer.ffn.linear_1, d, f)


def build(path, size, quantization):
    d, f, heads, n_enc, n_dec, vocab = SIZES[size]
    rng = np.random.default_rng(1)
    spec = transformer_spec.TransformerSpec.from_config((n_enc, n_dec), heads, pre_norm=True)

    def draw(*shape):
        return (rng.standard_normal(shape) * 0.02).astype(np.float32)

    table, positions = draw(vocab, d), draw(512, d)
    for side, embeddings in ((spec.encoder, spec.encoder.embeddings[0]), (spec.decoder, spec.decoder.embeddings)):
        embeddings.weight, side.position_encodings.encodings, side.scale_embeddings = table, positions, True
        side.layer_norm.gamma, side.layer_norm.beta = np.ones(d, np.float32), np.zeros(d, np.float32)
        for layer in side.layer:
            fill(layer, draw, d, f, side is spec.decoder)
    spec.decoder.projection.weight, spec.decoder.projection.bias = table, np.zeros(vocab, np.float32)
    tokens = ["<blank>", "</s>", "<s>", "<unk>"] + [f"t{i}" for i in range(vocab - 4)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.validate()
    spec.optimize(quantization=quantization)
    os.makedirs(path, exist_ok=True)
    spec.save(path)


def rate(path, division, sentences, o):
    """Target tokens a second; division: batches side by side, threads of each."""
    inter, intra = division
    translator = ctranslate2.Translator(path, device="cpu", inter_threads=inter, intra_threads=intra)

    def run(list_of):
        results = translator.translate_batch(list_of, beam_size=o.beam, max_batch_size=o.batch,
                                             min_decoding_length=o.length, max_decoding_length=o.length)
        return sum(len(r.hypotheses[0]) for r in results)

    run(sentences[:4])
    begin = time.perf_counter()
    n = run(sentences)
    return n / (time.perf_counter() - begin)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--size", choices=SIZES, default="base")
    a.add_argument("--beam", type=int, default=4)
    a.add_argument("--batch", type=int, default=32)
    a.add_argument("--length", type=int, default=28)
    a.add_argument("--threads", type=int, default=2)
    a.add_argument("--sentences", type=int, default=0)
    a.add_argument("--modes", default="fp32,int8")
    a.add_argument("--dir", default="build/ct2")
    o = a.parse_args()
    n = o.sentences or (16 if o.batch == 1 else 64)
    rng = np.random.default_rng(2)
    sentences = [[f"t{i}" for i in rng.integers(0, SIZES[o.size][5] - 4, o.length)] for _ in range(n)]
    divisions = [(1, o.threads)] + ([(o.threads, 1)] if o.threads > 1 else [])
    for mode in o.modes.split(","):
        path = f"{o.dir}/{o.size}-{mode}"
        if not os.path.isdir(path):
            build(path, o.size, None if mode == "fp32" else mode)
        rates = {f"{inter}x{intra}": rate(path, (inter, intra), sentences, o) for inter, intra in divisions}
        best = max(rates, key=rates.get)
        print(json.dumps({"peer": "ctranslate2 " + ctranslate2.__version__, "size": o.size, "mode": mode,
                          "beam": o.beam, "batch": o.batch, "threads": o.threads, "division": best,
                          "target_tokens_per_s": round(rates[best], 1)}), flush=True)


if __name__ == "__main__":
    main()
