#!/usr/bin/env python3
"""Do the tests find mistakes in the GPU kernels, and waits that CUDA's host code lacks?

    tools/mutants.py [--build DIR] [--barriers | --waits] [--minutes M] [--from N] [NUMBER]...

Makes each change of tests/mutants/gpu.txt in a copy of src/device/gpu, one at a time, or with
--barriers leaves out one BARRIER after the other, compiles the kernels as C, links them into
test_kernels and test_gpu_numbers as DIR (build/release) built them, and runs what of these runs
the kernels of the changed file. With --waits it leaves out one wait, record of an event or call
that makes one after the other in src/device/cuda, and runs test_cuda and, where that notices
nothing, tests/cli/nccl.sh. A mutant that no test notices survives, and makes the status 1.
--from begins with mutant N, --minutes stops after a while, so that it can be called in pieces.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = ROOT / "src/device/gpu"
CUDA = ROOT / "src/device/cuda"
STORAGES = ("float", "half", "bfloat")

# The cases of test_kernels that run a file's kernels; a mistake that does not concern 16 bits
# must be found in fp32.
NORM, RELU = ["norm_forward", "norm_backward"], ["relu_forward", "relu_backward"]
CASES = {"gemm.h": ["gemm_tt_add", "gemm_wide", "gemm_nn", "gemm_nt", "gemm_tn_add"],
         "columns.h": ["norm_backward", "relu_backward"], "norm.h": NORM, "relu.h": RELU,
         "activate.h": ["activate_forward", "activate_backward"], "bias.h": ["bias_forward", "bias_backward"],
         "xent.h": ["xent", "xent_prior", "xent_loss", "xent_scaled", "topk"],
         "xent_views.h": ["xent_views", "xent_cut"], "embed.h": ["embed_forward", "embed_backward"],
         "topk.h": ["topk", "topk_ties"], "attend.h": ["attend_cache", "attend_memory"],
         "attention.h": ["attention_forward", "attention_backward"], "group.h": ["xent", *NORM],
         "numbers.h": [*RELU, *NORM],
         "vector.h": ["fill", "scale", "average", "sumsq", "maxabs", "cast", "adam", "novograd"]}
IN_16_BITS = ("numbers.h", "gemm.h")


def from_list():
    """(file, offset, old, new) of every change of the list."""
    file, old, new = None, [], []
    lines = (ROOT / "tests/mutants/gpu.txt").read_text().splitlines()
    for line in [*lines, "end"]:
        if line.startswith("#"):
            continue
        if line[:1] == "-":
            old.append(line[1:])
        elif line[:1] == "+":
            new.append(line[1:])
        else:
            if file:
                text = (KERNELS / file).read_text()
                was = "\n".join(old)
                if was not in text:
                    sys.exit(f"{file} has no '{was}': bring tests/mutants/gpu.txt up to date")
                yield file, text.index(was), was, "\n".join(new)
            file, old, new = line, [], []


def without_barriers():
    for path in sorted(KERNELS.glob("*.h")):
        for match in re.finditer(r"\bBARRIER;", path.read_text()):
            if path.name != "dialect.h":
                yield path.name, match.start(), "BARRIER;", ";"


def without_waits():
    """Whole statements, with the condition that stands before them."""
    call = re.compile(r"[^;{}]*\b(cuStreamWaitEvent|cuStreamSynchronize|cuEventRecord|cuda_wait|"
                      r"copy_after_compute|cuda_compute_after_copy)\((?!struct)[^;{}]*;")
    for name in ("cuda.c", "gemm.c", "side_stream.c"):
        for match in call.finditer((CUDA / name).read_text()):
            yield name, match.start(), match[0], ";"


class Lab:
    """A copy of the kernels, and how DIR compiles and links."""

    def __init__(self, build, where):
        self.build, self.where = build, pathlib.Path(where)
        self.copy = self.where / "src/device/gpu"
        shutil.copytree(KERNELS, self.copy)
        self.link = {t: self.command(t) for t in ("test_kernels", "test_gpu_numbers", "test_cuda", "ferry")}
        (self.where / "standin").symlink_to(build / "standin")

    def command(self, target):
        done = subprocess.run(["ninja", "-C", self.build, "-t", "commands", target],
                              capture_output=True, text=True, check=False)
        if done.returncode or not (self.build / target).exists():
            sys.exit(f"{self.build} has no {target}: build it first")
        words = shlex.split(done.stdout.splitlines()[-1])
        return words[words.index("&&") + 1:] if "&&" in words else words

    def run(self, words):
        return subprocess.run([str(w) for w in words if w not in ("&&", ":")], cwd=self.build,
                              capture_output=True, text=True, check=False).returncode == 0

    def compile(self, target, source=None):
        words = self.command(target)
        words = ["-O1" if re.fullmatch("-O[23]", w) else w for w in words]
        out = self.where / pathlib.Path(target).name
        words[words.index("-o") + 1] = out
        if source:
            words[words.index("-c") + 1] = source
        for dependencies in ("-MT", "-MF"):
            at = words.index(dependencies)
            del words[at:at + 2]
        words.remove("-MD")
        at = next(i for i, w in enumerate(words) if w.startswith("-I"))
        return self.run([*words[:at], f"-I{self.where}/src", *words[at:]]) and out

    def build_one(self, program, objects):
        words = list(self.link[program])
        first = next(i for i, w in enumerate(words) if w.endswith(".a") or w.startswith("-Wl,--whole"))
        words[words.index("-o") + 1] = self.where / program
        return self.run(words[:first] + objects + words[first:])

    def complaint(self, words, seconds):
        """What a command complains of; '' when of nothing."""
        done = subprocess.run(["timeout", str(seconds), *words], capture_output=True, text=True,
                              env={**os.environ, "FERRY_OPENCL": "none"}, check=False)
        if done.returncode == 124:
            return "never ends"
        said = re.search(r"agree.h:\d+: ([^\n]*)|((fibres|stand-in CUDA): [^\n]*)|(test_\w+\.c:\d+[^\n]*)|"
                         r"(FAIL [^\n]*)", done.stdout + done.stderr)
        return "" if not done.returncode else said[0][:90] if said else f"status {done.returncode}"

    def test(self, program, parts, objects):
        if not self.build_one(program, objects):
            return "does not link"
        results = (self.complaint([self.where / program, part], 120) for part in parts)
        return next((r for r in results if r), "")

    def fate_without_wait(self, file):
        objects = [self.compile(f"CMakeFiles/ferry_device.dir/src/device/cuda/{file}.o", self.where / file)]
        if not all(objects):
            return "does not compile"
        result = self.test("test_cuda", [""], objects)
        if result or not self.build_one("ferry", objects):
            return result or "does not link"
        return self.complaint([ROOT / "tests/cli/run", ROOT / "tests/cli/nccl.sh", self.where / "ferry"], 600)

    def fate(self, file):
        wide = file in IN_16_BITS
        objects = [self.compile(f"CMakeFiles/standin_program.dir/tests/standin/program_{s}.c.o")
                   for s in (STORAGES if wide else STORAGES[:1])]
        if not all(objects):
            return "does not compile"
        result = ""
        if file in ("numbers.h", "vector.h"):
            result = self.test("test_gpu_numbers", [""], objects)
        tests = [f"{case}_agrees_with_its_reference{'' if wide else '_on'}" for case in CASES[file]]
        return result or self.test("test_kernels", tests, objects)


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--build", type=lambda d: pathlib.Path(d).resolve(),
                         default=ROOT / "build/release")
    options.add_argument("--barriers", action="store_const", const=without_barriers, dest="list",
                         default=from_list)
    options.add_argument("--waits", action="store_const", const=without_waits, dest="list")
    options.add_argument("--minutes", type=float, default=1e9)
    options.add_argument("--from", type=int, default=1, dest="first")
    options.add_argument("number", nargs="*", type=int)
    asked = options.parse_args()
    mutants = list(enumerate(asked.list(), 1))
    wanted = [m for m in mutants if m[0] >= asked.first and (not asked.number or m[0] in asked.number)]
    begin, survivors = time.monotonic(), []
    with tempfile.TemporaryDirectory() as where:
        lab = Lab(asked.build, where)
        if asked.list is without_waits and not asked.number:
            shutil.copy(CUDA / "cuda.c", where)
            if complaint := lab.fate_without_wait("cuda.c"):
                sys.exit(f"with all waits: {complaint}")
        for number, (file, at, old, new) in wanted:
            if time.monotonic() - begin > 60 * asked.minutes:
                print(f"not tried yet: from {number}; call again with --from {number}")
                break
            is_host = file.endswith(".c")
            text = ((CUDA if is_host else KERNELS) / file).read_text()
            line = text.count("\n", 0, at + len(old) - len(old.lstrip())) + 1
            copy = (lab.where if is_host else lab.copy) / file
            copy.write_text(text[:at] + new + text[at + len(old):])
            result = lab.fate_without_wait(file) if is_host else lab.fate(file)
            copy.write_text(text)
            print(f"{number:3} {file}:{line} {' '.join(old.split())[:60]!r}: {result or 'SURVIVES'}", flush=True)
            survivors += [] if result else [number]
    print(f"{len(survivors)} survive: {survivors}")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
