#!/usr/bin/env python3
"""Real TensorFlow reads a checkpoint of ours.

    tensorflow_bundle.py PREFIX [--base|--mixed-base] [--equal OTHER] [--meta]

Every tensor is read, which verifies its checksum. --base asks for exactly the 558 names,
shapes, types and file sizes of the reference's base model, --mixed-base for the 682 of its
mixed precision, and that the 16-bit weights are the masters rounded. --equal compares values bit
for bit with another checkpoint prefix or an .npz. --meta imports PREFIX.meta, restores
PREFIX through its saver and compares the variables with the checkpoint.
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

# tensors, and bytes of the two files
BASE = (558, {".data-00000-of-00001": 730570768, ".index": 27441})
MIXED_BASE = (682, {".data-00000-of-00001": 852267044, ".index": 36131})


def check(ok, what):
    if not ok:
        sys.exit(f"FAILED: {what}")


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def check_base(prefix, reader, want, like):
    n_tensors, n_bytes = like
    shapes = reader.get_variable_to_shape_map()
    types = reader.get_variable_to_dtype_map()
    check(len(want) == n_tensors and set(shapes) == set(want),
          f"names differ: {sorted(set(shapes) ^ set(want))[:5]}")
    for name, (shape, dtype) in want.items():
        check(tuple(shapes[name]) == shape, f"{name} has shape {shapes[name]}")
        check(types[name].name == dtype, f"{name} has type {types[name].name}")
    for suffix, size in n_bytes.items():
        check(os.path.getsize(prefix + suffix) == size,
              f"{prefix + suffix} has {os.path.getsize(prefix + suffix)} bytes, not {size}")


def check_masters(reader, names):
    """How many 16-bit weights are their masters, rounded by NumPy."""
    n = 0
    for name in names:
        master = f"Loss_Optimization/FP32-master-copy/{name}"
        if reader.get_variable_to_dtype_map()[name].name == "float16":
            check(same(np.asarray(reader.get_tensor(name)),
                       np.asarray(reader.get_tensor(master)).astype(np.float16)),
                  f"{name} is not its master, rounded")
            n += 1
    return n


def check_equal(reader, names, other):
    if other.endswith(".npz"):
        values = np.load(other)
        check(set(values.files) == set(names), f"names differ from those of {other}")
        get = values.__getitem__
    else:
        theirs = tf.train.load_checkpoint(other)
        check(set(theirs.get_variable_to_shape_map()) == set(names),
              f"names differ from those of {other}")
        get = theirs.get_tensor
    for name in names:
        check(same(np.asarray(reader.get_tensor(name)), np.asarray(get(name))),
              f"{name} differs from {other}")


def check_meta(prefix, reader, names):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        saver = v1.train.import_meta_graph(prefix + ".meta")
        variables = {v.op.name: v for v in v1.global_variables()}
        check(set(variables) == set(names), "the variables of .meta are not those of .index")
        session.run(v1.global_variables_initializer())
        for name in names[:3]:
            check(not np.any(session.run(variables[name])), f"{name} does not start at zero")
        saver.restore(session, prefix)
        for name in names:
            check(same(np.asarray(session.run(variables[name])),
                       np.asarray(reader.get_tensor(name))), f"{name} was not restored")
        return len(v1.trainable_variables())


def main():
    options = argparse.ArgumentParser()
    options.add_argument("prefix")
    options.add_argument("--base", action="store_true")
    options.add_argument("--mixed-base", action="store_true")
    options.add_argument("--equal")
    options.add_argument("--meta", action="store_true")
    asked = options.parse_args()

    reader = tf.train.load_checkpoint(asked.prefix)
    names = sorted(reader.get_variable_to_shape_map())
    total = sum(np.asarray(reader.get_tensor(n)).nbytes for n in names)
    print(f"TensorFlow {tf.__version__} reads {len(names)} tensors, {total} bytes")
    if asked.base:
        check_base(asked.prefix, reader, reference_names.tensors(), BASE)
        print("names, shapes, types and file sizes are the reference's")
    if asked.mixed_base:
        check_base(asked.prefix, reader, reference_names.mixed_tensors(), MIXED_BASE)
        print("names, shapes, types and file sizes are those of its mixed precision; "
              f"{check_masters(reader, names)} weights are their masters, rounded")
    if asked.equal:
        check_equal(reader, names, asked.equal)
        print(f"values equal those of {asked.equal}")
    if asked.meta:
        n = check_meta(asked.prefix, reader, names)
        print(f"the saver of .meta restores all variables, {n} of them trainable")


if __name__ == "__main__":
    main()
