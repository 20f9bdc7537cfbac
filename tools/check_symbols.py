#!/usr/bin/env python3
"""usage: check_symbols.py BUILD_DIR

Fail when an object exports a symbol without its module's prefix.

The module of X.c is X, or ROOM_X where X alone says too little (train/run/config.c). A file
without a header of its own is a part of the module whose header stands beside it: X_y.c of
X (opt_yaml.c of opt), otherwise any file of the one that is named like the room
(model/forward.c of model). The files of device/cpu and infer/kernel are compiled once a
variant and export cpu_<variant>_ and infer_<variant>_ names.
"""
import pathlib
import re
import subprocess
import sys

# What may be exported besides the prefix, and why.
EXCEPTIONS = {
    "src/cli/main.c": r"main",  # the system calls it so
    "src/base/err.c": r"status_text",  # belongs to the type `status` of err.h
    "src/train/trainer.c": r"train_run",  # what the room is for
}


def prefix_of(source):
    parts = source.stem.split("_")
    names = ["_".join(parts[:n]) for n in range(len(parts), 0, -1)] + [source.parent.name]
    return next((x for x in names if source.with_name(x + ".h").exists()), source.stem)


def allowed(source, library):
    """A pattern for the names that `source` may export into CMake's `library`."""
    variant = re.fullmatch(r"ferry_((cpu|infer)_\w+)", library)
    if variant:
        return rf"{variant[1]}_\w+"
    prefix = re.escape(prefix_of(source))
    room = f"{source.parts[1]}_|{source.parent.name}_"
    return rf"({room})?{prefix}(_\w+)?|{EXCEPTIONS.get(str(source), prefix)}"


def exported(obj):
    """Strong definitions; weak ones are C++'s inline functions."""
    out = subprocess.run(["nm", "--defined-only", "--extern-only", obj], text=True,
                         capture_output=True, check=True).stdout
    for line in out.splitlines():
        kind, name = line.split()[-2:]
        if kind in "TDBRCGS":
            yield name


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    n_objects = n_bad = 0
    for obj in sorted(pathlib.Path(sys.argv[1]).glob("CMakeFiles/ferry_*.dir/src/**/*.o")):
        library, _, rest = str(obj).partition("CMakeFiles/")[2].partition(".dir/")
        source = pathlib.Path(rest[:-len(".o")])
        if not source.exists():
            continue  # the object of a file that has since been removed
        n_objects += 1
        for name in exported(obj):
            if not re.fullmatch(allowed(source, library), name):
                print(f"{source}: exports {name}; want {allowed(source, library)}")
                n_bad += 1
    print(f"{n_objects} objects, {n_bad} symbols without their prefix")
    return n_bad > 0 or n_objects == 0


sys.exit(main())
