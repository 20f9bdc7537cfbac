#!/usr/bin/env python3
"""Real TensorBoard reads an event file of ours.

    tensorboard_events.py RUN_DIR_OR_FILE [--tags A,B,...] [--equal FILE]

Every record is loaded twice: by the event-file loader (each event) and by the accumulator
behind TensorBoard's plots (each curve, over the restarts of a run). --tags must be there.
--equal FILE compares the tags that it names with its lines `step<TAB>tag<TAB>value`, in order,
values as floats.
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
    """(step, tag, value) of each scalar, in order; (step, None, None) is a (re)start."""
    points, is_first = [], True
    for event in event_file_loader.LegacyEventFileLoader(path).Load():
        check(not is_first or event.file_version == "brain.Event:2",
              f"{path}: the first event is {event}")
        is_first = False
        if event.session_log.status == event.session_log.START:
            points.append((event.step, None, None))
        for value in event.summary.value:
            if value.WhichOneof("value") in ("histo", "tensor"):
                continue  # tensorboard_plugins.py looks at those
            check(value.WhichOneof("value") == "simple_value", f"{path}: {value}")
            points.append((event.step, value.tag, value.simple_value))
    check(not is_first, f"{path} holds no event")
    return points


def curves_of(points):
    """What is left of each curve: a restart drops the points at its step and after."""
    curves = {}
    for step, tag, value in points:
        if tag is None:
            curves = {t: [p for p in c if p[0] < step] for t, c in curves.items()}
        else:
            curves.setdefault(tag, []).append((step, bits(value)))
    return curves


def check_curves(run, points):
    """The accumulator behind TensorBoard's plots has the same curves."""
    plots = event_accumulator.EventAccumulator(run, size_guidance={"scalars": 0})
    plots.Reload()
    want = curves_of(points)
    tags = plots.Tags()["scalars"]
    check({t for t in want if want[t]} <= set(tags) <= set(want), f"curves are {tags}")
    for tag in tags:
        got = [(e.step, bits(e.value)) for e in plots.Scalars(tag)]
        check(got == want[tag], f"curve {tag} differs")
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
    values = [p for p in points if p[1] is not None]
    print(f"TensorBoard {tensorboard.__version__} reads {len(values)} values "
          f"of {len(files)} files")
    print(f"{check_curves(asked.run, points)} curves are whole")
    missing = set(filter(None, asked.tags.split(","))) - {tag for _, tag, _ in values}
    check(not missing, f"tags {sorted(missing)} are missing")
    if asked.equal:
        with open(asked.equal) as f:
            rows = [line.rstrip("\n").split("\t") for line in f]
        want = [(int(step), tag, bits(float(value))) for step, tag, value in rows]
        named = {tag for _, tag, _ in rows}
        check(want == [(s, t, bits(v)) for s, t, v in values if t in named],
              f"values differ from {asked.equal}")
        print(f"values equal those of {asked.equal}")


if __name__ == "__main__":
    main()
