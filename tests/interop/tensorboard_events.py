#!/usr/bin/env python3
"""Real TensorBoard reads an event file of ours.

    tensorboard_events.py RUN_DIR_OR_FILE [--tags A,B,...] [--equal FILE]

Every record is loaded twice: by the event-file loader (each event) and, for a directory,
by the accumulator behind TensorBoard's plots (each curve). --tags must be there.
--equal FILE compares with lines `step<TAB>tag<TAB>value`, in order, values as floats.
"""
import argparse
import glob
import os
import struct
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
try:
    from tensorboard.backend.event_processing import event_accumulator, event_file_loader
    import tensorboard
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(0)


def check(ok, what):
    if not ok:
        sys.exit(f"FAILED: {what}")


def bits(value):
    return struct.pack("<f", value)


def points_of(path):
    """(step, tag, value) of each scalar, in order."""
    points, is_first = [], True
    for event in event_file_loader.LegacyEventFileLoader(path).Load():
        check(not is_first or event.file_version == "brain.Event:2",
              f"{path}: the first event is {event}")
        is_first = False
        for value in event.summary.value:
            check(value.WhichOneof("value") == "simple_value", f"{path}: {value}")
            points.append((event.step, value.tag, value.simple_value))
    check(not is_first, f"{path} holds no event")
    return points


def check_curves(run, points):
    """The accumulator has the same curves (it keeps the last of equal steps too)."""
    curves = event_accumulator.EventAccumulator(run, size_guidance={"scalars": 0,
                                                                    "tensors": 0})
    curves.Reload()
    tags = curves.Tags()["scalars"]
    check(set(tags) == {tag for _, tag, _ in points}, f"curves are {tags}")
    for tag in tags:
        got = [(e.step, bits(e.value)) for e in curves.Scalars(tag)]
        want = [(step, bits(value)) for step, t, value in points if t == tag]
        check(got == want, f"curve {tag} differs")
    return len(tags)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("run")
    options.add_argument("--tags", default="")
    options.add_argument("--equal")
    asked = options.parse_args()

    is_dir = os.path.isdir(asked.run)
    files = sorted(glob.glob(f"{asked.run}/events.out.tfevents.*")) if is_dir else [asked.run]
    check(files, f"no event file in {asked.run}")
    points = [p for f in files for p in points_of(f)]
    print(f"TensorBoard {tensorboard.__version__} reads {len(points)} values "
          f"of {len(files)} files")
    n_curves = check_curves(asked.run, points) if len(files) == 1 else None
    if n_curves is not None:
        print(f"{n_curves} curves are whole")
    missing = set(filter(None, asked.tags.split(","))) - {tag for _, tag, _ in points}
    check(not missing, f"tags {sorted(missing)} are missing")
    if asked.equal:
        with open(asked.equal) as f:
            rows = [line.rstrip("\n").split("\t") for line in f]
        want = [(int(step), tag, bits(float(value))) for step, tag, value in rows]
        check(want == [(s, t, bits(v)) for s, t, v in points], f"values differ from {asked.equal}")
        print(f"values equal those of {asked.equal}")


if __name__ == "__main__":
    main()
