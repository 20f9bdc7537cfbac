#!/usr/bin/env python3
"""Golden values of the optimizers: tests/data/golden_optim.json.

Ten updates of every tensor of a tiny model in float64 with NumPy, for each optimizer with
clipping, LARC, weight decay and freezing. Gradients are a formula of step and tensor name that
the C test repeats: sums over `tokens` target tokens, so that the division is tested too.
"""
import json
import math
import pathlib
import re

import numpy as np

from golden_torch import rng_key, rng_units, shapes

CONFIG = dict(vocab_size=5, d_model=4, d_ff=3, heads=2, encoder_layers=1, decoder_layers=1)
STEPS = 10
TOKENS = [17 + 3 * t for t in range(STEPS)]
RATES = [0.02 * min(t + 1, 4) / math.sqrt(t + 1) for t in range(STEPS)]
SIZES = [0.02 * (1 + t % 4) for t in range(STEPS)]  # of the mean gradient
DEFAULTS = dict(optimizer="adam", beta1=0.9, beta2=0.997, epsilon=1e-9, weight_decay=0.0,
                grad_averaging=False, max_grad_norm=0.0, larc="none", larc_eta=0.001,
                larc_min_update=1e-7, larc_epsilon=1e-7, freeze="")


def draw(seed, name, shape):
    return rng_units(rng_key(seed, name), math.prod(shape)).reshape(shape) - 0.5


def initial(name, shape):
    """Norm biases are 0, so that a tensor of norm 0 is among them."""
    if name.endswith("layer_norm_bias"):
        return np.zeros(shape)
    return draw(7, name, shape) + name.endswith("layer_norm_scale")


def summed_gradient(t, name, shape):
    return draw(100 + t, name, shape) * (SIZES[t] * TOKENS[t])


def norm(x):
    return math.sqrt(float(np.sum(x * x)))


def clip(gradients, most):
    """Every gradient by the same factor, so that their common norm is at most `most`."""
    whole = math.sqrt(sum(norm(g) ** 2 for g in gradients.values()))
    if 0 < most < whole:
        gradients = {n: g * most / whole for n, g in gradients.items()}
    return gradients, whole


def larc(o, w, g, rate):
    if o["larc"] == "none":
        return g
    u = o["larc_eta"] * norm(w) / (norm(g) + o["larc_epsilon"])
    if o["larc"] == "clip":
        return g * min(max(u / rate, o["larc_min_update"]), 1)
    return g * max(u, o["larc_min_update"])


class Adam:
    def __init__(self, o):
        self.o, self.m, self.v = o, {}, {}

    def update(self, name, w, g, rate, n):
        o = self.o
        m = self.m[name] = o["beta1"] * self.m.get(name, 0) + (1 - o["beta1"]) * g
        v = self.v[name] = o["beta2"] * self.v.get(name, 0) + (1 - o["beta2"]) * g**2
        corrected = rate * math.sqrt(1 - o["beta2"]**n) / (1 - o["beta1"]**n)
        if o["optimizer"] == "adamw":
            w = w - rate * o["weight_decay"] * w
        return w - corrected * m / (np.sqrt(v) + o["epsilon"])


class NovoGrad:
    def __init__(self, o):
        self.o, self.m, self.v = o, {}, {}

    def update(self, name, w, g, rate, n):
        o, square = self.o, norm(g) ** 2
        if name in self.v:
            square = o["beta2"] * self.v[name] + (1 - o["beta2"]) * square
        self.v[name] = square
        step = g / math.sqrt(square + o["epsilon"]) + o["weight_decay"] * w
        if o["grad_averaging"]:
            step = step * (1 - o["beta1"])
        self.m[name] = o["beta1"] * self.m.get(name, 0) + step
        return w - rate * self.m[name]


def run(**options):
    o = {**DEFAULTS, **options}
    rule = NovoGrad(o) if o["optimizer"] == "novograd" else Adam(o)
    weights = {n: initial(n, s) for n, s in shapes(CONFIG).items()}
    trained = [n for n in weights if not (o["freeze"] and re.search(o["freeze"], n))]
    norms = []
    for t in range(STEPS):
        mean = {n: summed_gradient(t, n, weights[n].shape) / TOKENS[t] for n in trained}
        gradients, whole = clip(mean, o["max_grad_norm"])
        norms.append(whole)
        for n in trained:
            g = larc(o, weights[n], gradients[n], RATES[t])
            weights[n] = rule.update(n, weights[n], g, RATES[t], t + 1)
    return dict(options={k: str(v).lower() for k, v in options.items()}, norms=norms,
                weights={n: w.flatten().tolist() for n, w in weights.items()})


CASES = [
    run(),
    run(beta1=0.8, beta2=0.98, epsilon=0.01),
    run(optimizer="adamw", weight_decay=0.05),
    run(optimizer="novograd", beta1=0.95, beta2=0.98, epsilon=1e-8),
    run(optimizer="novograd", beta2=0.5, weight_decay=0.1, grad_averaging=True),
    run(max_grad_norm=0.25),
    run(optimizer="novograd", max_grad_norm=0.25, beta2=0.9),
    run(larc="clip", epsilon=0.01),
    run(larc="clip", larc_eta=0.02, larc_min_update=0.1, epsilon=0.01),
    run(larc="scale", epsilon=0.001),
    run(optimizer="adamw", weight_decay=0.02, larc="scale", larc_eta=0.3, larc_min_update=0.01,
        larc_epsilon=0.05, epsilon=0.01),
    run(optimizer="novograd", larc="clip", larc_eta=0.02, larc_min_update=0.1, beta2=0.9),
    run(freeze="embedding|layer_norm"),
    run(optimizer="adamw", weight_decay=0.05, freeze="_decoder/", max_grad_norm=0.2),
    run(optimizer="novograd", freeze="/(q|v)/kernel$", larc="scale", larc_eta=0.5),
]


def main():
    out = pathlib.Path(__file__).resolve().parent.parent / "tests/data/golden_optim.json"
    head = dict(config=CONFIG, tokens=TOKENS, rates=RATES, sizes=SIZES)
    cases = ",\n".join(json.dumps(c) for c in CASES)
    out.write_text(json.dumps(head)[:-1] + ', "cases": [\n' + cases + "\n]}\n")
    clipped = [sum(n > 0.25 for n in CASES[5]["norms"]), STEPS]
    print(f"{out}: {len(CASES)} cases, {clipped[0]} of {clipped[1]} updates clipped")


if __name__ == "__main__":
    main()
