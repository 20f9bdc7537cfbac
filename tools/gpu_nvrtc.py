#!/usr/bin/env python3
"""The GPU kernels for cards that nvcc 13 no longer compiles for, by NVRTC 12.

    tools/gpu_nvrtc.py [--library FILE] [--storage S] [--out DIR] [--images] [ARCH]...

Compiles src/device/gpu/program.h for every ARCH (60 and 70: P100 and V100) and every
storage, or S alone; a warning is an error. --out keeps STORAGE.sm_ARCH.cubin; --images, for one ARCH,
names them STORAGE.fatbin, as FERRY_CUDA_IMAGE=DIR wants them. NVRTC is FILE, or the
library of the Python package nvidia-cuda-nvrtc-cu12 in build/venv or in this Python;
without one the status is 77. tools/gpu_resources.py tells what the kernels take.
"""
import argparse
import ctypes
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORAGES = ("fp32", "fp16", "bf16")

# What the compiler may say: the report that was asked for, and that it is the last one to
# compile for these cards, which is why it is used.
HARMLESS = r"ptxas (info|  )|nvrtc: warning: Architectures prior to .* are deprecated"


def die(what, status=1):
    print(f"gpu_nvrtc: {what}", file=sys.stderr)
    sys.exit(status)


def find_library():
    places = list(ROOT.glob("build/venv/lib/python3*/site-packages/nvidia/cuda_nvrtc"))
    try:
        spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
        places += [pathlib.Path(p) for p in spec.submodule_search_locations] if spec else []
    except ModuleNotFoundError:
        pass
    for place in places:
        for file in sorted(place.glob("lib/libnvrtc.so.1[12]*")):
            return file
    die("no NVRTC 12 here: `make nvrtc` installs it", 77)


class Nvrtc:
    def __init__(self, file):
        try:
            self.lib = ctypes.CDLL(str(file))
        except OSError as problem:
            die(f"{file}: {problem}")
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.call("nvrtcVersion", ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def call(self, name, *args):
        code = getattr(self.lib, name)(*args)
        if code:
            self.lib.nvrtcGetErrorString.restype = ctypes.c_char_p
            die(f"{name}: {self.lib.nvrtcGetErrorString(code).decode()}")

    def text(self, program, what):
        size = ctypes.c_size_t()
        self.call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        data = ctypes.create_string_buffer(size.value or 1)
        self.call(f"nvrtcGet{what}", program, data)
        return data.raw[:size.value]

    def compile(self, arch, storage):
        """The cubin, and ptxas' report."""
        source = (ROOT / "src/device/gpu/program.h").read_bytes()
        options = [f"--gpu-architecture=sm_{arch}", f"-I{ROOT / 'src'}",
                   f"-DSTORAGE={STORAGES.index(storage)}", "--ptxas-options=-v"]
        words = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        program = ctypes.c_void_p()
        self.call("nvrtcCreateProgram", ctypes.byref(program), source, b"program.cu", 0, None, None)
        code = self.lib.nvrtcCompileProgram(program, len(options), words)
        log = self.text(program, "ProgramLog").decode().strip("\0\n ")
        loud = [line for line in log.splitlines() if line and not re.match(HARMLESS, line)]
        if code or loud:
            die(f"sm_{arch}, {storage}: {'cannot compile' if code else 'a warning'}:\n{log}")
        cubin = self.text(program, "CUBIN")
        self.call("nvrtcDestroyProgram", ctypes.byref(program))
        return cubin, log


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--library")
    options.add_argument("--storage", choices=STORAGES)
    options.add_argument("--out")
    options.add_argument("--images", action="store_true")
    options.add_argument("arch", nargs="*")
    asked = options.parse_args()
    archs = asked.arch or ["60", "70"]
    if asked.images and (len(archs) != 1 or not asked.out):
        die("--images takes one ARCH and --out DIR", 2)
    nvrtc = Nvrtc(asked.library or find_library())
    print(f"NVRTC {nvrtc.version}")
    for arch in archs:
        for storage in [asked.storage] if asked.storage else STORAGES:
            cubin, _ = nvrtc.compile(arch, storage)
            print(f"sm_{arch} {storage}: {len(cubin)} bytes")
            if asked.out:
                out = pathlib.Path(asked.out)
                out.mkdir(parents=True, exist_ok=True)
                name = f"{storage}.fatbin" if asked.images else f"{storage}.sm_{arch}.cubin"
                (out / name).write_bytes(cubin)


if __name__ == "__main__":
    main()
