#!/usr/bin/env python3
"""Golden values of the losses of docs/quality.md: tests/data/golden_views.json.

The float64 model of golden_torch.py on pairs of which some tokens are hidden: their embedding
is a zero vector, the position stays. KL divergences and cross-entropies are PyTorch's own, as
the published implementations call them, and autograd makes the gradients through both views.

  simcut   CE(p) + alpha KL(p || q), q from the view whose tokens are cut
  rdrop    half of CE(p) + CE(q) + alpha (KL(p || q) + KL(q || p)) / 2, both views hidden apart
  unigram  cross-entropy with targets smoothed by a prior, less the entropy of the target
"""
import math
import pathlib

import torch
from torch.nn.functional import kl_div

from golden_torch import (DEC, EMBED, SEED, SMOOTH, Model, batch, dump, formula_weights,
                          pairs_json, rng_key, rng_units, token_losses)

MINI = dict(vocab_size=11, d_model=4, d_ff=6, heads=2, encoder_layers=1, decoder_layers=2,
            norm_epsilon=1e-6)
LENGTHS = [(7, 6), (3, 3), (2, 9), (12, 4), (1, 1)]
SIMCUT, RDROP = 3.0, 5.0


class Shown(Model):
    """Ids of -1 are zero vectors; the decoder's input is given, not made of the labels."""

    def embed(self, ids):
        ids = torch.tensor(ids, dtype=torch.long)
        seen = (ids >= 0).to(self.w[EMBED].dtype)[:, None]
        return self.w[EMBED][ids.clamp(min=0)] * math.sqrt(self.D) * seen

    def logits_of(self, source, given):
        memory = self.encode(source)
        x = self.embed(given) + self.position(len(given))
        for layer in range(self.c["decoder_layers"]):
            path = f"{DEC}/layer_{layer}"
            y = self.norm(x, path + "/self_attention")
            x = x + self.attention(y, y, path + "/self_attention/self_attention", True)
            y = self.norm(x, path + "/encdec_attention")
            x = x + self.attention(y, memory, path + "/encdec_attention/attention", False)
            x = x + self.feed_forward(self.norm(x, path + "/ffn"), path + "/ffn")
        return self.norm(x, DEC) @ self.w[EMBED].T


def hide(pairs, name, rate):
    """(source, decoder input) of each pair, with a share of the tokens hidden."""
    n = sum(len(s) + len(t) for s, t in pairs)
    draws = iter(rng_units(rng_key(5, name), n))
    return [([-1 if next(draws) < rate else x for x in s],
             [-1 if next(draws) < rate else x for x in [-1] + t[:-1]]) for s, t in pairs]


def prior_losses(logits, labels, prior):
    target = SMOOTH * prior.repeat(len(labels), 1)
    target[torch.arange(len(labels)), torch.tensor(labels)] += 1 - SMOOTH
    least = -torch.xlogy(target, target).sum(-1)
    return -(target * torch.log_softmax(logits, -1)).sum(-1) - least


def divergence(x, y):
    """KL(p || q) of each row, p = softmax(x)."""
    p = torch.log_softmax(x, -1)
    return kl_div(torch.log_softmax(y, -1), p, reduction="none", log_target=True).sum(-1)


def part(shown, loss):
    """loss: of all logits, [ntokens, V] of each view, to cross-entropies and gaps."""
    weights = {n: w.requires_grad_() for n, w in formula_weights(MINI, SEED).items()}
    model, pairs = Shown(MINI, weights), batch(MINI, "views", LENGTHS)
    logits = [torch.cat([model.logits_of(*pair) for pair in view]) for view in shown]
    losses, gaps = loss(*logits, [id for _, target in pairs for id in target])
    (losses.sum() + gaps.sum()).backward()
    return dict(views=[[dict(source=s, input=t) for s, t in view] for view in shown],
                losses=losses.tolist(), gaps=gaps.tolist(),
                gradient={n: w.grad.flatten().tolist() for n, w in weights.items()})


def simcut(x, y, labels):
    return token_losses(x, labels), SIMCUT * divergence(x, y)


def rdrop(x, y, labels):
    both = divergence(x, y) + divergence(y, x)
    return (token_losses(x, labels) + token_losses(y, labels)) / 2, RDROP * both / 2 / 2


def main():
    pairs = batch(MINI, "views", LENGTHS)
    whole, some, other = (hide(pairs, name, rate)
                          for name, rate in (("all", 0), ("some", 0.3), ("other", 0.3)))
    counts = rng_units(rng_key(5, "prior"), MINI["vocab_size"])
    counts[3] = 0
    prior = torch.from_numpy(counts / counts.sum())
    unigram = lambda x, labels: (prior_losses(x, labels, prior), torch.zeros(len(labels)))
    golden = dict(config=MINI, seed=SEED, smooth=SMOOTH, pairs=pairs_json(pairs),
                  prior=prior.tolist(), simcut_weight=SIMCUT, rdrop_weight=RDROP,
                  simcut=part([whole, other], simcut), rdrop=part([some, other], rdrop),
                  unigram=part([some], unigram))
    out = pathlib.Path(__file__).resolve().parent.parent / "tests/data/golden_views.json"
    out.write_text(dump(golden, 2) + "\n")


if __name__ == "__main__":
    main()
