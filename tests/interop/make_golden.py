#!/usr/bin/env python3
"""Write tests/data/golden.*: small files made by real TensorFlow that the C tests read.

    make_golden.py tests/data

Also prints the size and checksum of a checkpoint index of several blocks, which
test_tensor_bundle.c rebuilds and compares without storing it.
"""
import glob
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import numpy as np
import tensorflow as tf
from tensorflow.core.framework.summary_pb2 import Summary
from tensorflow.core.util.event_pb2 import Event, SessionLog


def save(prefix, tensors, slices=None):
    names = sorted(tensors)
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=names,
        shape_and_slices=[(slices or {}).get(n, "") for n in names],
        tensors=[tf.constant(tensors[n]) for n in names],
    )


def bundle(out):
    tensors = {
        "a/scalar": np.float32(1.5),
        "b/matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
        "c/half": np.arange(3, dtype=np.float16),
        "d/bfloat": np.array([1, -2], dtype=tf.bfloat16.as_numpy_dtype),
        "e/double": np.array([0.1]),
        "f/int32": np.array([-1, 0, 1, 2], dtype=np.int32),
        "g/empty": np.zeros((0, 5), dtype=np.float32),
        "global_step": np.int64(50000),
    }
    for i in range(20):
        tensors[f"w/{i:02d}/kernel"] = np.array([i], dtype=np.float32)
    save(out / "golden", tensors)


def two_shards(out):
    with tempfile.TemporaryDirectory() as tmp:
        save(f"{tmp}/one", {"a": np.float32(1), "c": np.arange(3, dtype=np.float32)})
        save(f"{tmp}/two", {"b": np.int64(2)})
        tf.raw_ops.MergeV2Checkpoints(
            checkpoint_prefixes=[f"{tmp}/one", f"{tmp}/two"],
            destination_prefix=str(out / "golden_shards"),
            delete_old_dirs=False,
        )


def partitioned(out):
    save(out / "golden_slices", {"v": np.arange(4, dtype=np.float32)}, {"v": "8 0,4"})


def strings(out):
    save(out / "golden_string", {"s": np.array([b"x", b"yz"])})


def events(out):
    with tempfile.TemporaryDirectory() as tmp, tf.Graph().as_default():
        writer = tf.compat.v1.summary.FileWriter(tmp)
        writer.add_event(
            Event(wall_time=1000.5, step=0, session_log=SessionLog(status=SessionLog.START))
        )
        for step, values in ((0, {"train_loss": 9.5}),
                             (100, {"train_loss": 7.75, "learning_rate": 1.2353e-5}),
                             (2**40, {"Eval_BLEU_Score": 0.0})):
            summary = Summary(value=[Summary.Value(tag=t, simple_value=v)
                                     for t, v in values.items()])
            writer.add_event(Event(wall_time=1000.5 + step, step=step, summary=summary))
        writer.close()
        (name,) = glob.glob(f"{tmp}/*")
        pathlib.Path(out / "golden.tfevents").write_bytes(pathlib.Path(name).read_bytes())


def pointer(out):
    from google.protobuf import text_format
    from tensorflow.python.training.checkpoint_state_pb2 import CheckpointState

    state = CheckpointState(
        model_checkpoint_path="model.ckpt-200",
        all_model_checkpoint_paths=["/abs/model.ckpt-0", "a \"q\" 'q' \\ \t \u00fc",
                                    "model.ckpt-200"],
        all_model_checkpoint_timestamps=[1.5, 2.5, 3e9],
        last_preserved_timestamp=0.25,
    )
    (out / "golden.checkpoint").write_text(text_format.MessageToString(state))


def crc32c(data):
    table = []
    for b in range(256):
        for _ in range(8):
            b = b >> 1 ^ (0x82F63B78 if b & 1 else 0)
        table.append(b)
    r = 0xFFFFFFFF
    for byte in data:
        r = r >> 8 ^ table[(r ^ byte) & 255]
    return r ^ 0xFFFFFFFF


def many_blocks():
    with tempfile.TemporaryDirectory() as tmp:
        save(f"{tmp}/many", {f"var/{i:06d}/with/a/long/name/{'x' * (i % 50)}": np.float32(i)
                             for i in range(9000)})
        data = pathlib.Path(f"{tmp}/many.index").read_bytes()
        print(f"index of 9000 tensors: {len(data)} bytes, crc32c {crc32c(data):#010x}")


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1])
    for make in (bundle, two_shards, partitioned, strings, events, pointer):
        make(out)
    many_blocks()
