#!/usr/bin/env python3
"""Golden values of the whole model: tests/data/golden_model.json.

An independent float64 model of the reference's arithmetic. It loops over sentences, one at a
time, so that there is no padding, no mask but the causal one and nothing to get wrong; autograd
makes the gradients. The C tests rebuild the same weights from the tensor names.

  tiny   loss, per-token losses, argmax and every gradient of one batch
  steps  ten Adam steps on three batches in turn: loss of each step, final weights in sums
  fresh  base-size model as initialised with a seed: per-token losses of a few sentences
  zero   loss when every logit is 0
"""
import argparse
import json
import math
import pathlib

import numpy as np
import torch

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
ENC, DEC = "ForwardPass/transformer_encoder", "ForwardPass/transformer_decoder"
EMBED = ENC + "/embedding_shared_weights/embedding_and_softmax/weights"
SMOOTH = 0.1


# ---- the random numbers of src/base/rng.c ------------------------------------------------

def mix(x):
    x ^= x >> 30
    x = x * 0xBF58476D1CE4E5B9 & MASK
    x ^= x >> 27
    x = x * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def rng_key(seed, name):
    h = 0xCBF29CE484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001B3 & MASK
    return mix(mix((seed + GOLDEN) & MASK) ^ h)


def rng_units(key, n):
    """The first n draws of a stream, uniform in [0, 1) with 53 bits."""
    with np.errstate(over="ignore"):
        x = np.uint64(key) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        x ^= x >> np.uint64(30)
        x *= np.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> np.uint64(27)
        x *= np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53


# ---- tensors ------------------------------------------------------------------------------

def shapes(c):
    """Checkpoint name -> shape of every trainable tensor."""
    D, F, out = c["d_model"], c["d_ff"], {EMBED: (c["vocab_size"], c["d_model"])}

    def norm(path):
        out[path + "/layer_normalization/layer_norm_scale"] = (D,)
        out[path + "/layer_normalization/layer_norm_bias"] = (D,)

    def attention(path, inner):
        norm(path)
        for part in ("q", "k", "v", "output_transform"):
            out[f"{path}/{inner}/{part}/kernel"] = (D, D)

    def feed_forward(path):
        norm(path + "/ffn")
        for part, rows, cols in ("filter_layer", D, F), ("output_layer", F, D):
            out[f"{path}/ffn/feed_foward_network/{part}/kernel"] = (rows, cols)
            out[f"{path}/ffn/feed_foward_network/{part}/bias"] = (cols,)

    for n, root in (c["encoder_layers"], ENC), (c["decoder_layers"], DEC):
        for layer in range(n):
            attention(f"{root}/layer_{layer}/self_attention", "self_attention")
            if root == DEC:
                attention(f"{root}/layer_{layer}/encdec_attention", "attention")
            feed_forward(f"{root}/layer_{layer}")
        norm(root)
    return out


def formula_weights(c, seed):
    """(u - 1/2) * 1.2 for matrices, (u - 1/2) * 0.2 for vectors, 1 more for gains."""
    out = {}
    for name, shape in shapes(c).items():
        u = rng_units(rng_key(seed, name), math.prod(shape)) - 0.5
        value = u * 1.2 if len(shape) == 2 else u * 0.2
        out[name] = torch.from_numpy(value.reshape(shape) + name.endswith("scale"))
    return out


def fresh_weights(c, seed):
    """What params_init gives: normal embedding, Glorot kernels, in float."""
    out = {}
    for name, shape in shapes(c).items():
        key, n = rng_key(seed, name), math.prod(shape)
        if name == EMBED:
            u = rng_units(key, 2 * n)
            value = np.sqrt(-2 * np.log(1 - u[0::2])) * np.cos(2 * np.pi * u[1::2])
            value /= math.sqrt(shape[1])
        elif len(shape) == 2:
            value = (2 * rng_units(key, n) - 1) * math.sqrt(6 / (shape[0] + shape[1]))
        else:
            value = np.full(n, float(name.endswith("scale")))
        out[name] = torch.from_numpy(value.astype(np.float32).astype(np.float64).reshape(shape))
    return out


# ---- the model, one sentence pair at a time ---------------------------------------------

class Model:
    def __init__(self, c, weights):
        self.c, self.w = c, weights
        self.D, self.H = c["d_model"], c["heads"]

    def position(self, n):
        half = self.D // 2
        p = torch.arange(n, dtype=torch.float64)[:, None]
        i = torch.arange(half, dtype=torch.float64)[None, :]
        angle = p * torch.exp(-i * math.log(10000.0) / (half - 1))
        return torch.cat([torch.sin(angle), torch.cos(angle)], 1).to(self.w[EMBED].dtype)

    def embed(self, ids):
        return self.w[EMBED][torch.tensor(ids, dtype=torch.long)] * math.sqrt(self.D)

    def norm(self, x, path):
        mean = x.mean(-1, keepdim=True)
        var = ((x - mean) ** 2).mean(-1, keepdim=True)
        y = (x - mean) / torch.sqrt(var + self.c["norm_epsilon"])
        return (y * self.w[path + "/layer_normalization/layer_norm_scale"]
                + self.w[path + "/layer_normalization/layer_norm_bias"])

    def attention(self, x, memory, path, causal):
        d = self.D // self.H
        q = x @ self.w[path + "/q/kernel"] * d**-0.5
        k = memory @ self.w[path + "/k/kernel"]
        v = memory @ self.w[path + "/v/kernel"]
        heads = []
        for h in range(self.H):
            part = slice(h * d, (h + 1) * d)
            z = q[:, part] @ k[:, part].T
            if causal:
                later = torch.ones_like(z, dtype=torch.bool).triu(1)
                z = z.masked_fill(later, -math.inf)
            heads.append(torch.softmax(z, -1) @ v[:, part])
        return torch.cat(heads, 1) @ self.w[path + "/output_transform/kernel"]

    def feed_forward(self, x, path):
        path += "/feed_foward_network"
        h = x @ self.w[path + "/filter_layer/kernel"] + self.w[path + "/filter_layer/bias"]
        return (torch.relu(h) @ self.w[path + "/output_layer/kernel"]
                + self.w[path + "/output_layer/bias"])

    def encode(self, source):
        x = self.embed(source) + self.position(len(source))
        for layer in range(self.c["encoder_layers"]):
            path = f"{ENC}/layer_{layer}"
            y = self.norm(x, path + "/self_attention")
            x = x + self.attention(y, y, path + "/self_attention/self_attention", False)
            x = x + self.feed_forward(self.norm(x, path + "/ffn"), path + "/ffn")
        return self.norm(x, ENC)

    def logits(self, source, labels):
        memory = self.encode(source)
        start = torch.zeros(1, self.D, dtype=self.w[EMBED].dtype)
        x = torch.cat([start, self.embed(labels[:-1])]) + self.position(len(labels))
        for layer in range(self.c["decoder_layers"]):
            path = f"{DEC}/layer_{layer}"
            y = self.norm(x, path + "/self_attention")
            x = x + self.attention(y, y, path + "/self_attention/self_attention", True)
            y = self.norm(x, path + "/encdec_attention")
            x = x + self.attention(y, memory, path + "/encdec_attention/attention", False)
            x = x + self.feed_forward(self.norm(x, path + "/ffn"), path + "/ffn")
        return self.norm(x, DEC) @ self.w[EMBED].T

    def batch(self, pairs):
        """Loss of every target token and the likeliest ids, sentence after sentence."""
        losses, best = [], []
        for source, labels in pairs:
            z = self.logits(source, labels)
            losses.append(token_losses(z, labels))
            best += z.argmax(-1).tolist()
        return torch.cat(losses), best


def token_losses(logits, labels):
    """Cross entropy with smoothed targets, less the entropy of a smoothed target."""
    V = logits.shape[1]
    c, low = 1 - SMOOTH, SMOOTH / (V - 1)
    target = torch.full_like(logits, low)
    target[torch.arange(len(labels)), torch.tensor(labels)] = c
    constant = -(c * math.log(c) + (V - 1) * low * math.log(low + 1e-20))
    return -(target * torch.log_softmax(logits, -1)).sum(-1) - constant


# ---- data ---------------------------------------------------------------------------------

def batch(c, name, lengths):
    """Pairs of S words EOS for lengths of 2 and more, the lone EOS for a length of 1."""
    draws = iter(rng_units(rng_key(5, name), sum(s + t for s, t in lengths)))

    def sentence(n):
        words = [4 + int(next(draws) * (c["vocab_size"] - 4)) for _ in range(n)]
        return [2] + words[1:-1] + [1] if n > 1 else [1]

    return [(sentence(s), sentence(t)) for s, t in lengths]


def pairs_json(pairs):
    return [{"source": s, "target": t} for s, t in pairs]


# ---- the four parts -----------------------------------------------------------------------

TINY = dict(vocab_size=37, d_model=8, d_ff=12, heads=2, encoder_layers=2, decoder_layers=2,
            norm_epsilon=1e-6)
BASE = dict(vocab_size=32768, d_model=512, d_ff=2048, heads=8, encoder_layers=6,
            decoder_layers=6, norm_epsilon=1e-6)
SEED = 7


def tiny():
    weights = {n: w.requires_grad_() for n, w in formula_weights(TINY, SEED).items()}
    pairs = batch(TINY, "tiny", [(7, 6), (3, 3), (3, 9), (12, 4), (1, 1)])
    losses, best = Model(TINY, weights).batch(pairs)
    losses.sum().backward()
    return dict(config=TINY, seed=SEED, smooth=SMOOTH, pairs=pairs_json(pairs),
                tokens=len(best), loss_sum=losses.sum().item(), losses=losses.tolist(),
                best=best, gradient={n: w.grad.flatten().tolist() for n, w in weights.items()})


ADAM = dict(learning_rate=0.2, warmup_steps=4, beta1=0.9, beta2=0.997, epsilon=1e-9)


def adam_rate(t):
    """transformer_policy and Adam's bias correction, t counted from 0."""
    warm, n = ADAM["warmup_steps"], t + 1
    rate = ADAM["learning_rate"] * TINY["d_model"]**-0.5 * min(n * warm**-1.5, n**-0.5)
    return rate * math.sqrt(1 - ADAM["beta2"]**n) / (1 - ADAM["beta1"]**n)


def steps(dtype=torch.float64):
    weights = {n: w.to(dtype).requires_grad_() for n, w in formula_weights(TINY, SEED).items()}
    batches = [batch(TINY, "steps 0", [(5, 7), (6, 4), (3, 5)]),
               batch(TINY, "steps 1", [(9, 8), (2, 3)]),
               batch(TINY, "steps 2", [(4, 4), (4, 6), (7, 3), (3, 2)])]
    m = {n: torch.zeros_like(w) for n, w in weights.items()}
    v = {n: torch.zeros_like(w) for n, w in weights.items()}
    means = []
    for t in range(10):
        losses, _ = Model(TINY, weights).batch(batches[t % 3])
        loss = losses.mean()
        gradient = torch.autograd.grad(loss, list(weights.values()))
        means.append(loss.item())
        with torch.no_grad():
            for (n, w), g in zip(weights.items(), gradient):
                m[n] = ADAM["beta1"] * m[n] + (1 - ADAM["beta1"]) * g
                v[n] = ADAM["beta2"] * v[n] + (1 - ADAM["beta2"]) * g * g
                w -= adam_rate(t) * m[n] / (torch.sqrt(v[n]) + ADAM["epsilon"])
    return dict(config=TINY, seed=SEED, smooth=SMOOTH, optimizer=ADAM,
                batches=[pairs_json(b) for b in batches], losses=means,
                sums={n: w.sum().item() for n, w in weights.items()},
                sums_of_squares={n: (w * w).sum().item() for n, w in weights.items()})


def fresh():
    pairs = batch(BASE, "fresh", [(9, 11), (14, 16), (3, 3), (31, 28), (22, 24), (17, 18)])
    with torch.no_grad():
        losses, _ = Model(BASE, fresh_weights(BASE, SEED)).batch(pairs)
    return dict(config=BASE, seed=SEED, smooth=SMOOTH, pairs=pairs_json(pairs),
                tokens=len(losses), loss_sum=losses.sum().item(), losses=losses.tolist())


def zero():
    V = BASE["vocab_size"]
    return dict(vocab_size=V, smooth=SMOOTH,
                loss=token_losses(torch.zeros(1, V, dtype=torch.float64), [5]).item())


def dump(x, depth=3):
    """JSON with a line for each entry of the outer dictionaries."""
    if isinstance(x, dict) and depth:
        rows = (f"{json.dumps(k)}: {dump(v, depth - 1)}" for k, v in x.items())
        return "{\n" + ",\n".join(rows) + "}"
    return json.dumps(x)


def float_check():
    """How far the ten steps in single precision are from those in double."""
    a, b = steps(), steps(torch.float32)
    print("largest loss difference in float:",
          max(abs(x - y) for x, y in zip(a["losses"], b["losses"])))
    for part in "sums", "sums_of_squares":
        print(f"largest difference of {part} in float:",
              max(abs(a[part][n] - b[part][n]) for n in a[part]))


def main():
    data = pathlib.Path(__file__).resolve().parent.parent / "tests/data/golden_model.json"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", nargs="?", default=data, type=pathlib.Path)
    parser.add_argument("--float-check", action="store_true", help=float_check.__doc__)
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.float_check:
        float_check()
        return
    golden = dict(tiny=tiny(), steps=steps(), fresh=fresh(), zero=zero())
    assert abs(golden["zero"]["loss"] - 9.0324070) < 5e-8, golden["zero"]
    options.out.write_text(dump(golden) + "\n")
    mean = golden["fresh"]["loss_sum"] / golden["fresh"]["tokens"]
    print(f"{options.out}: loss of fresh base weights {mean:.4f}")


if __name__ == "__main__":
    main()
