#!/usr/bin/env python3
"""Registers, local memory, spills and occupancy of every GPU kernel: docs/gpu.md's table.

    tools/gpu_resources.py [--nvrtc FILE] [--docs FILE] [ARCH]...

Every ARCH (75 80 90) is compiled by nvcc, 60 and 70 by NVRTC 12 (tools/gpu_nvrtc.py), in
every storage; the numbers are ptxas'. The table is of fp32. A kernel that spills in any
storage makes the status 1; so does, with --docs, a table that is not in FILE.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import gpu_nvrtc

ROOT = gpu_nvrtc.ROOT
PROGRAM = ROOT / "src/device/gpu"

# Of a multiprocessor: threads, blocks, bytes of shared memory; bytes that every block loses
# and the unit in which it gets them. All have 65,536 registers, given to a warp by 256.
LIMITS = {60: (2048, 32, 65536, 0, 256), 70: (2048, 32, 98304, 0, 256),
          75: (1024, 16, 65536, 0, 256), 80: (2048, 32, 167936, 1024, 128),
          90: (2048, 32, 233472, 1024, 128)}


def items_of_kernels():
    """Kernel name -> items of a group, from the sources."""
    sizes = dict(re.findall(r"#define (\w+_ITEMS) +(\d+)", (PROGRAM / "args.h").read_text()))
    found = {}
    for file in PROGRAM.glob("*.h"):
        pattern = r"KERNEL\((\w+_ITEMS)\)\s+void (?:HEADED\()?(\w+)"
        for size, name in re.findall(pattern, file.read_text()):
            found[name] = int(sizes[size])
    return found


def occupancy(arch, items, registers, shared):
    threads, blocks, memory, lost, unit = LIMITS[arch]
    warps = items // 32
    of_warp = -(-registers * 32 // 256) * 256
    fits = [blocks, threads // items, 65536 // of_warp // warps]
    if shared + lost:
        fits.append(memory // (-(-(shared + lost) // unit) * unit))
    return min(fits) * items / threads


def rows(arch, log, items):
    """kernel -> (registers, local bytes, spilled bytes, occupancy) of ptxas' report."""
    pattern = (r"entry function '(\w+)' for.*?(\d+) bytes spill stores, (\d+) bytes spill loads"
               r".*?Used (\d+) registers([^\n]*)")
    out = {}
    for name, stores, loads, registers, rest in re.findall(pattern, log, re.S):
        shared = re.search(r"(\d+) bytes smem", rest)
        shared = int(shared[1]) if shared else 0
        of = items[re.sub(r"_(16|32|64|128)$", "", name)]
        out[name] = (int(registers), shared, int(stores) + int(loads),
                     occupancy(arch, of, int(registers), shared))
    return out


def report_of(arch, storage, nvrtc):
    if arch < 75:
        return nvrtc.compile(arch, storage)[1]
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [nvcc, "-cubin", f"-arch=sm_{arch}", "-O3", "-Xptxas", "-v", "-I", ROOT / "src",
             f"-DSTORAGE={gpu_nvrtc.STORAGES.index(storage)}", "-x", "cu",
             PROGRAM / "program.h", "-o", f"{out}/cubin"],
            capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stderr


def table(archs, found):
    yield "| kernel |" + "".join(f" sm_{a} registers | local bytes | occupancy |" for a in archs)
    yield "|---|" + "--:|--:|--:|" * len(archs)
    for name in found[archs[0]]:
        cells = "".join(f" {f[0]} | {f[1]:,} | {100 * f[3]:.0f} % |"
                        for f in (found[a][name] for a in archs))
        yield f"| {name} |{cells}"


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--nvrtc")
    options.add_argument("--docs")
    options.add_argument("arch", nargs="*", type=int)
    asked = options.parse_args()
    archs = asked.arch or [75, 80, 90]
    items = items_of_kernels()
    nvrtc = None
    if min(archs) < 75:
        nvrtc = gpu_nvrtc.Nvrtc(asked.nvrtc or gpu_nvrtc.find_library())
    found, spilled = {}, []
    for arch in archs:
        for storage in gpu_nvrtc.STORAGES:
            of = rows(arch, report_of(arch, storage, nvrtc), items)
            found.setdefault(arch, of)
            spilled += [f"{name} in {storage} on sm_{arch}: {of[name][2]} bytes"
                        for name in of if of[name][2]]
    text = "\n".join(table(archs, found))
    print(text)
    print("spilled: " + ("; ".join(spilled) or "nothing, in any storage"))
    stale = asked.docs and text not in pathlib.Path(asked.docs).read_text()
    if stale:
        print(f"{asked.docs} has another table", file=sys.stderr)
    sys.exit(1 if spilled or stale else 0)


if __name__ == "__main__":
    main()
