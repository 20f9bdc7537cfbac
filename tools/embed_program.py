#!/usr/bin/env python3
"""usage: embed_program.py SRC_DIR HEADER OUT.c

Write the GPU program as a C string: HEADER (a path below SRC_DIR) with the headers of
device/gpu that it includes put in their place, as a driver's compiler wants it.
"""
import pathlib
import re
import sys


def expand(root, name, seen):
    text = (root / name).read_text(encoding="utf-8")
    if "#pragma once" in text:
        if name in seen:
            return
        seen.add(name)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for line in text.splitlines():
        include = re.match(r'\s*#include "(device/gpu/[^"]+)"', line)
        if include:
            yield from expand(root, include[1], seen)
        elif line.strip() and line.strip() != "#pragma once":
            yield line.rstrip()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    root, header, out = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    lines = list(expand(root, header, set()))
    with out.open("w", encoding="utf-8") as f:
        f.write("extern const char gpu_program_source[];\nconst char gpu_program_source[] =\n")
        for line in lines:
            escaped = line.replace("\\", "\\\\").replace('"', '\\"')
            f.write(f'    "{escaped}\\n"\n')
        f.write("    ;\n")


main()
