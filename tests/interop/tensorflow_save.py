#!/usr/bin/env python3
"""Real TensorFlow writes a checkpoint, for our programs to read.

    tensorflow_save.py OUT_PREFIX --like PREFIX     the values of another checkpoint
    tensorflow_save.py OUT_PREFIX --npz FILE        the arrays of an .npz
    tensorflow_save.py OUT_PREFIX --base [--seed N] the reference's base model, random

--pointer also writes the text file `checkpoint` beside it, with TensorFlow's own code.
"""
import argparse
import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    import numpy as np
    import tensorflow as tf
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)

import reference_names


def random_value(rng, shape, dtype):
    if dtype == "int64":
        return np.int64(0)
    return np.asarray(rng.normal(0, 0.05, shape), dtype=dtype)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("out")
    source = options.add_mutually_exclusive_group(required=True)
    source.add_argument("--like")
    source.add_argument("--npz")
    source.add_argument("--base", action="store_true")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--pointer", action="store_true")
    asked = options.parse_args()

    if asked.base:
        rng = np.random.default_rng(asked.seed)
        values = {n: random_value(rng, *v)
                  for n, v in sorted(reference_names.tensors().items())}
    elif asked.npz:
        values = dict(np.load(asked.npz))
    else:
        reader = tf.train.load_checkpoint(asked.like)
        values = {n: reader.get_tensor(n) for n in reader.get_variable_to_shape_map()}
    names = sorted(values)
    tf.raw_ops.SaveV2(prefix=asked.out, tensor_names=names,
                      shape_and_slices=[""] * len(names),
                      tensors=[tf.constant(values[n]) for n in names])
    if asked.pointer:
        # Names relative to here become relative to the directory of the checkpoint.
        here = os.path.relpath(asked.out)
        tf.compat.v1.train.update_checkpoint_state(os.path.dirname(here) or ".", here, [here])
    print(f"TensorFlow {tf.__version__} wrote {len(names)} tensors to {asked.out}")


if __name__ == "__main__":
    main()
