#!/usr/bin/env python3
"""Golden values of every learning-rate policy: tests/data/golden_schedule.json.

Written from the formulas of the reference, one plain function a policy, in Python floats.
Each case holds the options as a user would type them, the run's width and length, and the
rate at chosen steps.
"""
import json
import math
import pathlib


def fixed_lr(t, lr):
    return lr


def piecewise_constant(t, lr, boundaries, rates):
    """The first value holds up to and including the first boundary."""
    for boundary, rate in zip(boundaries, [1.0] + rates):
        if t <= boundary:
            return lr * rate
    return lr * rates[-1]


def exp_decay(t, lr, steps, rate, staircase=False, begin=0, low=0.0):
    if t < begin:
        return max(low, lr)
    exponent = (t - begin) // steps if staircase else (t - begin) / steps
    return max(low, lr * math.exp(exponent * math.log(rate)))


def poly_decay(t, lr, steps, power=1.0, begin=0, low=0.0, warmup=0):
    begin = max(begin, warmup)
    if t < warmup:
        return lr * t / warmup
    if t < begin:
        return lr
    left = 1 - min(t - begin, steps) / steps
    return (lr - low) * left**power + low


def cosine_decay(t, lr, steps, begin=0, low=0.0, warmup=0):
    begin = max(begin, warmup)
    if t < warmup:
        return lr * t / warmup
    if t < begin:
        return lr
    wave = (1 + math.cos(math.pi * min(t - begin, steps) / steps)) / 2
    return lr * (low + (1 - low) * wave)


def transformer_policy(t, lr, width, warmup, cap=math.inf, coefficient=1.0):
    n = t + 1
    return min(cap, lr * coefficient * width**-0.5 * min(n * warmup**-1.5, n**-0.5))


def inv_poly_decay(t, lr, steps, low, power=1.0):
    slope = ((lr / max(low, 1e-8)) ** (1 / power) - 1) / steps
    return lr / (1 + slope * t) ** power


EARLY = [0, 1, 99, 100, 101, 499, 500, 501, 999, 1000, 1001, 2500, 9999, 10000, 20000]
BASE = [0, 99, 999, 3999, 7999, 8000, 49999, 99999, 299999]


def case(policy, options, rate, at=EARLY, d_model=512, last_step=10000):
    options = dict(lr_policy=policy, **options)
    return dict(options={k: str(v) for k, v in options.items()}, d_model=d_model,
                last_step=last_step, at=at, rate=[rate(t) for t in at])


CASES = [
    case("fixed_lr", dict(learning_rate=0.003), lambda t: fixed_lr(t, 0.003)),
    case("piecewise_constant",
         dict(learning_rate=0.5, boundaries="100, 500,1000", decay_rates="0.1,0.02,0.005"),
         lambda t: piecewise_constant(t, 0.5, [100, 500, 1000], [0.1, 0.02, 0.005])),
    case("exp_decay", dict(learning_rate=0.1, decay_steps=500, decay_rate=0.5),
         lambda t: exp_decay(t, 0.1, 500, 0.5)),
    case("exp_decay", dict(learning_rate=0.1, decay_steps=450, decay_rate=0.9,
                           use_staircase_decay="true", begin_decay_at=100, min_lr=0.02),
         lambda t: exp_decay(t, 0.1, 450, 0.9, True, 100, 0.02)),
    case("exp_decay", dict(learning_rate=0.1, decay_rate=0.3, begin_decay_at=1000),
         lambda t: exp_decay(t, 0.1, 9000, 0.3, False, 1000)),
    case("exp_decay", dict(learning_rate=0.1, decay_rate=0.3, warmup_steps=400),
         lambda t: exp_decay(t, 0.1, 10000, 0.3)),
    case("poly_decay", dict(learning_rate=0.04, power=2),
         lambda t: poly_decay(t, 0.04, 10000, 2)),
    case("poly_decay", dict(learning_rate=0.04, warmup_steps=500, min_lr=0.001),
         lambda t: poly_decay(t, 0.04, 9500, 1, 0, 0.001, 500)),
    case("poly_decay", dict(learning_rate=0.04, warmup_steps=100, begin_decay_at=1000,
                            decay_steps=2000, power=0.5, min_lr=0.002),
         lambda t: poly_decay(t, 0.04, 2000, 0.5, 1000, 0.002, 100)),
    case("cosine_decay", dict(learning_rate=0.2),
         lambda t: cosine_decay(t, 0.2, 10000)),
    case("cosine_decay", dict(learning_rate=0.2, warmup_steps=500, min_lr=0.05,
                              begin_decay_at=1000, decay_steps=3000),
         lambda t: cosine_decay(t, 0.2, 3000, 1000, 0.05, 500)),
    case("transformer_policy", dict(learning_rate=2.0, warmup_steps=8000),
         lambda t: transformer_policy(t, 2.0, 512, 8000), BASE, last_step=300000),
    case("transformer_policy", {}, lambda t: transformer_policy(t, 2.0, 1024, 8000), BASE,
         d_model=1024, last_step=300000),
    case("transformer_policy", dict(learning_rate=1.5, warmup_steps=500, lr_d_model=256,
                                    max_lr=0.002, coefficient=0.7),
         lambda t: transformer_policy(t, 1.5, 256, 500, 0.002, 0.7)),
    case("inv_poly_decay", dict(learning_rate=0.1, min_lr=0.001),
         lambda t: inv_poly_decay(t, 0.1, 10000, 0.001)),
    case("inv_poly_decay", dict(learning_rate=0.1, power=2, decay_steps=500),
         lambda t: inv_poly_decay(t, 0.1, 500, 0, 2)),
    case("inv_poly_decay", dict(learning_rate=0.1, min_lr=0.002, warmup_steps=300, power=0.5),
         lambda t: inv_poly_decay(t, 0.1, 10000, 0.002, 0.5)),
]


def main():
    out = pathlib.Path(__file__).resolve().parent.parent / "tests/data/golden_schedule.json"
    out.write_text("[\n" + ",\n".join(json.dumps(c) for c in CASES) + "\n]\n")
    print(f"{out}: {len(CASES)} cases")


if __name__ == "__main__":
    main()
