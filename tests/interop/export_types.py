"""Are the numbers of a CTranslate2 model in few bits those of its own converter?

usage: export_types.py FLOAT.bin QUANTIZED.bin TYPE

Every weight of FLOAT.bin is quantised by ctranslate2.specs; QUANTIZED.bin must hold the
same bytes, and the same tensors in all.
"""
import struct
import sys

import numpy
from ctranslate2.specs import common_spec


class Reader:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.bytes = f.read()
        self.at = 0

    def number(self, code):
        value = struct.unpack_from("<" + code, self.bytes, self.at)[0]
        self.at += struct.calcsize(code)
        return value

    def text(self):
        n = self.number("H")
        self.at += n
        return self.bytes[self.at - n : self.at - 1].decode()

    def tensor(self):
        name = self.text()
        shape = [self.number("I") for _ in range(self.number("B"))]
        kind = self.number("B")
        n = self.number("I")
        self.at += n
        return name, (kind, shape, self.bytes[self.at - n : self.at])

    def all(self):
        self.number("I"), self.text(), self.number("I")
        tensors = dict(self.tensor() for _ in range(self.number("I")))
        for _ in range(self.number("I")):
            self.text(), self.text()
        assert self.at == len(self.bytes)
        return tensors


def expected(name, tensor, kind):
    """What the converter makes of a tensor in float: the tensors that replace it."""
    types = ("float32", "int8", "int16", "int32", "float16", "bfloat16")
    number, shape, data = tensor
    if number != 0 or not shape:
        return {name: tensor}
    is_weight = name.endswith("/weight")
    spec = common_spec.LinearSpec() if is_weight else common_spec.LayerNormSpec()
    array = numpy.frombuffer(data, numpy.float32).reshape(shape).copy()
    if is_weight:
        spec.weight = array
    else:
        spec.gamma = spec.beta = array
    spec.validate()
    spec._quantize(kind)
    made = {}
    for key, value in spec.variables().items():
        if isinstance(value, str) or (not is_weight and key == "beta"):
            continue
        suffix = key.removeprefix("weight") if is_weight else ""
        made[name + suffix] = (types.index(value.dtype), list(value.shape), bytes(value.to_bytes()))
    return made


def main():
    whole, quantised = Reader(sys.argv[1]).all(), Reader(sys.argv[2]).all()
    wanted = {}
    for name, tensor in whole.items():
        wanted |= expected(name, tensor, sys.argv[3])
    if wanted.keys() != quantised.keys():
        sys.exit(f"other tensors: {sorted(wanted.keys() ^ quantised.keys())[:8]}")
    for name, (kind, shape, data) in wanted.items():
        if quantised[name] != (kind, shape, data):
            sys.exit(f"{name}: type {quantised[name][:2]}, want {(kind, shape)}; bytes differ: "
                     f"{sum(a != b for a, b in zip(quantised[name][2], data))} of {len(data)}")


main()
