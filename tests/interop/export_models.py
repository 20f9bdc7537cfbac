"""Models of random weights in the formats of others, made by their own libraries.

usage: export_models.py VOCAB.model TEXT DIR

VOCAB.model cuts text into the tokens of all of them; those with two vocabularies have one
more, learnt from TEXT. Models with two tables of words, with one, with norms behind
sublayers and before them, in DIR/NAME. An end of sentence is made likely, so that
translations are short, and unknown words are never said.
"""
import json
import os
import shutil
import sys

import numpy
import sentencepiece

WIDTH, INNER, HEADS, LAYERS = 48, 96, 4, 2
STRONG = 3 / WIDTH**0.5  # of layers, so that more than the last word decides the next
random = numpy.random.default_rng(7)


def tokens_of(path):
    pieces = sentencepiece.SentencePieceProcessor(model_file=path)
    return [pieces.id_to_piece(i) for i in range(pieces.vocab_size())]


def normal(*shape, scale=1.0):
    return (scale * random.normal(size=shape)).astype(numpy.float32)


def output_bias(tokens, end=1.5):
    bias = normal(len(tokens), scale=0.5)
    bias[tokens.index("</s>")] += end
    for silent in ("<unk>", "<pad>", "<s>"):
        if silent in tokens:
            bias[tokens.index(silent)] = -1e9
    return bias


def huggingface(directory, source, target, source_spm, target_spm):
    """MarianMT; one vocabulary where source and target are the same list."""
    import torch
    from transformers import MarianConfig, MarianMTModel

    is_one = source is target
    pad, end = target.index("<pad>"), target.index("</s>")
    config = MarianConfig(
        vocab_size=len(source), decoder_vocab_size=len(target), d_model=WIDTH,
        encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_ffn_dim=INNER,
        decoder_ffn_dim=INNER, encoder_attention_heads=HEADS, decoder_attention_heads=HEADS,
        activation_function="swish", scale_embedding=True, pad_token_id=pad, eos_token_id=end,
        forced_eos_token_id=None, decoder_start_token_id=pad, max_position_embeddings=512,
        share_encoder_decoder_embeddings=is_one)
    model = MarianMTModel(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "embed_positions" in name:
                continue
            if weight.ndim == 2:
                weight.copy_(torch.tensor(normal(*weight.shape, scale=0.7 / WIDTH**0.5 if weight.shape[0] > 200 else STRONG)))
            elif "norm" in name and name.endswith("weight"):
                weight.copy_(1 + 0.2 * torch.tensor(normal(*weight.shape)))
            else:
                weight.copy_(0.2 * torch.tensor(normal(*weight.shape)))
        for table in (model.model.decoder.embed_tokens, model.model.encoder.embed_tokens):
            table.weight[pad] = 0
        model.final_logits_bias = torch.tensor(output_bias(target))[None]
    model.save_pretrained(directory)
    names = {"vocab.json": source} | ({} if is_one else {"target_vocab.json": target})
    for name, tokens in names.items():
        with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
            json.dump({token: i for i, token in enumerate(tokens)}, f)
    shutil.copy(source_spm, os.path.join(directory, "source.spm"))
    shutil.copy(target_spm, os.path.join(directory, "target.spm"))
    with open(os.path.join(directory, "tokenizer_config.json"), "w", encoding="utf-8") as f:
        json.dump({"source_lang": "en", "target_lang": "de", "separate_vocabs": not is_one}, f)


def marian_weights(source, target, is_one):
    weights = {}
    vector = lambda n, scale=0.2: normal(1, n, scale=scale)
    matrix = lambda a, b: normal(a, b, scale=0.7 / WIDTH**0.5 if a > 200 else STRONG)

    def norm(path):
        weights[path + "_ln_scale"] = 1 + vector(WIDTH)
        weights[path + "_ln_bias"] = vector(WIDTH)

    def attention(path):
        for part in "qkvo":
            weights[f"{path}_W{part}"] = matrix(WIDTH, WIDTH)
            weights[f"{path}_b{part}"] = vector(WIDTH)
        norm(path + "_Wo")

    for side in ("encoder", "decoder"):
        for layer in range(1, LAYERS + 1):
            path = f"{side}_l{layer}"
            attention(path + "_self")
            if side == "decoder":
                attention(path + "_context")
            weights[path + "_ffn_W1"] = matrix(WIDTH, INNER)
            weights[path + "_ffn_b1"] = vector(INNER)
            weights[path + "_ffn_W2"] = matrix(INNER, WIDTH)
            weights[path + "_ffn_b2"] = vector(WIDTH)
            norm(path + "_ffn_ffn")
    tables = {"Wemb": source} if is_one else {"encoder_Wemb": source, "decoder_Wemb": target}
    for name, tokens in tables.items():
        weights[name] = matrix(len(tokens), WIDTH)
    weights["decoder_ff_logit_out_b"] = output_bias(target)[None]
    return weights


def marian(directory, source, target, source_spm, target_spm):
    """The same of Marian, whose names and options these are."""
    is_one = source is target
    os.makedirs(directory)
    options = {
        "type": "transformer", "dim-emb": WIDTH, "enc-depth": LAYERS, "dec-depth": LAYERS,
        "dim-vocabs": [len(source), len(target)], "transformer-heads": HEADS,
        "transformer-dim-ffn": INNER, "transformer-ffn-depth": 2,
        "transformer-ffn-activation": "relu", "transformer-preprocess": "",
        "transformer-postprocess": "dan", "transformer-postprocess-top": "",
        "transformer-postprocess-emb": "d", "transformer-decoder-autoreg": "self-attention",
        "transformer-no-projection": False, "transformer-train-position-embeddings": False,
        "transformer-tied-layers": [], "transformer-guided-alignment-layer": "last",
        "tied-embeddings": not is_one, "tied-embeddings-all": is_one,
        "tied-embeddings-src": False, "skip": False, "layer-normalization": False,
        "lemma-dim-emb": 0, "ulr": False, "version": "v1.12.0"}
    text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in options.items())
    weights = marian_weights(source, target, is_one)
    weights["special:model.yml"] = numpy.frombuffer(text.encode() + b"\0", dtype=numpy.int8)
    numpy.savez(os.path.join(directory, "model.npz"), **weights)
    names = ["vocab.yml"] if is_one else ["source.vocab.yml", "target.vocab.yml"]
    for name, tokens in zip(names, (source, target)):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as f:
            for i, token in enumerate(tokens):
                f.write(f"{json.dumps(token, ensure_ascii=False)}: {i}\n")
    shutil.copy(source_spm, os.path.join(directory, "source.spm"))
    shutil.copy(target_spm, os.path.join(directory, "target.spm"))


def ctranslate2(directory, tokens, spm):
    """Norms before sublayers, biases, gelu, a decoder that starts with a token."""
    from ctranslate2.specs import common_spec, model_spec, transformer_spec

    spec = transformer_spec.TransformerSpec.from_config(
        (LAYERS, LAYERS), HEADS, pre_norm=True, activation=common_spec.Activation.GELU)
    sizes = {"self_attention/linear_0": (3 * WIDTH, WIDTH), "attention/linear_1": (2 * WIDTH, WIDTH),
             "ffn/linear_0": (INNER, WIDTH), "ffn/linear_1": (WIDTH, INNER)}
    table = normal(len(tokens), WIDTH, scale=0.7 / WIDTH**0.5)

    def fill(layer, scope, _value):
        path, name = scope.rsplit("/", 1)
        if "embeddings" in path or path.endswith("projection"):
            layer.weight = table
            if path.endswith("projection"):
                layer.bias = output_bias(tokens)
        elif name == "encodings":
            layer.encodings = positions(256)
        elif name in ("gamma", "beta"):
            setattr(layer, name, (name == "gamma") + normal(WIDTH, scale=0.2))
        elif name == "weight":
            shape = next((s for key, s in sizes.items() if path.endswith("/" + key)), (WIDTH, WIDTH))
            layer.weight = normal(*shape, scale=STRONG)
            layer.bias = normal(shape[0], scale=0.2)

    model_spec.visit_spec(spec, fill)
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.add_source_eos = True
    spec.config.decoder_start_token = "<s>"
    spec.config.layer_norm_epsilon = 1e-6
    os.makedirs(directory)
    spec.validate()
    spec.optimize()
    spec.save(directory)
    shutil.copy(spm, os.path.join(directory, "source.spm"))


def positions(n):
    rates = numpy.exp(-numpy.arange(WIDTH // 2) * numpy.log(10000.0) / (WIDTH // 2))
    angles = numpy.arange(n)[:, None] * rates[None]
    return numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], axis=1).astype(numpy.float32)


def main():
    spm, text, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    other = os.path.join(out, "other")
    sentencepiece.SentencePieceTrainer.train(
        input=text, model_prefix=other, vocab_size=400, model_type="unigram", pad_id=0, eos_id=1,
        bos_id=2, unk_id=3, minloglevel=2)
    tokens, others = tokens_of(spm), tokens_of(other + ".model")
    huggingface(os.path.join(out, "huggingface"), tokens, tokens, spm, spm)
    huggingface(os.path.join(out, "huggingface2"), others, tokens, other + ".model", spm)
    marian(os.path.join(out, "marian"), tokens, tokens, spm, spm)
    marian(os.path.join(out, "marian2"), others, tokens, other + ".model", spm)
    ctranslate2(os.path.join(out, "ctranslate2"), tokens, spm)


main()
