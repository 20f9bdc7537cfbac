#!/usr/bin/env python3
"""What a fatbin holds: a line for each image, `sm_75 cubin` or `sm_90 ptx`.

    fatbin.py FILE
"""
import struct
import sys

KINDS = {1: "ptx", 2: "cubin"}


def images(data):
    magic, _, header, total = struct.unpack_from("<IHHQ", data)
    if magic != 0xBA55ED50 or header + total > len(data):
        sys.exit("not a fatbin, or cut off")
    at = header
    while at < header + total:
        kind, _, header_bytes, size = struct.unpack_from("<HHIQ", data, at)
        arch, = struct.unpack_from("<I", data, at + 28)
        yield f"sm_{arch} {KINDS.get(kind, kind)}"
        at += header_bytes + size


with open(sys.argv[1], "rb") as file:
    print("\n".join(sorted(images(file.read()))))
