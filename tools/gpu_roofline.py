#!/usr/bin/env python3
"""What one update should take on a card, kernel by kernel: docs/gpu.md's predictions.

    tools/gpu_roofline.py [--docs FILE]

Counts the bytes that each kernel of src/device/gpu must move and the operations that it
does, from the shapes that src/model/forward.c and backward.c call it with, and divides by
what a card reaches (configs/devices, and the shares below). With --docs the status is 1
when the tables are not in FILE.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Shares of the published peaks. Products: what cuBLASLt reaches at these shapes, about;
# attention and what adds up rows run on the ordinary fp32 units, from local memory.
SHARE_MEMORY, SHARE_FP32, SHARE_MIXED, SHARE_UNITS = 0.75, 0.8, 0.55, 0.45
LAUNCH = 3e-6  # seconds between two kernels of a stream

CARDS = ("V100", "A100")
LENGTH = 28  # tokens of a sentence, on either side
MODELS = {"base": (512, 2048, 8, 6, 32768, 12288), "big": (1024, 4096, 16, 6, 32768, 5120)}
CHUNK = 512  # rows of logits at a time: ACT_CHUNK


def card(name):
    text = (ROOT / f"configs/devices/{name}.yaml").read_text()
    return {key: float(value) for key, value in re.findall(r"^(\w+): ([\d.]+)$", text, re.M)}


class Update:
    """One update of a model: {kernel: [(bytes, operations, launches)...]}; width is what is
    stored in."""

    def __init__(self, model, width):
        self.D, self.F, self.heads, self.L, self.V, self.N = MODELS[model]
        self.width = width
        self.work = {}
        self.count()

    def add(self, group, n_bytes, operations=0, launches=1):
        self.work.setdefault(group, []).append((n_bytes, operations, launches))

    def sums(self):
        """{kernel: its bytes, operations and launches}"""
        return {group: [sum(column) for column in zip(*calls)] for group, calls in self.work.items()}

    def product(self, rows, inner, cols, times=1):
        """x [rows,inner] w [inner,cols] of forward, and both gradients; w's is fp32, stored, then added to."""
        w, operations = self.width, 2 * rows * inner * cols
        x, y, of_w = rows * inner, rows * cols, inner * cols
        each = w * (x + of_w + y)
        for n_bytes in (times * each, times * each, times * w * (x + y) + (8 * times - 4) * of_w):
            self.add("products (cuBLASLt)", n_bytes, times * operations, times)

    def norm(self, n, is_bottom=False):
        each = self.width * n * self.D
        self.add("norm_forward", (2 if is_bottom else 4) * each)
        self.add("norm_backward", (4 if is_bottom else 5) * each)
        self.add("norm_columns", 3 * each, launches=4)

    def attention(self, n):
        each, block, head = self.width * n * self.D, 32, self.D // self.heads
        tiles = n // LENGTH * self.heads * (-(-LENGTH // block)) ** 2
        of_tile = 2 * block * block * head  # also what is masked or beyond a sentence's end
        self.add("attention_forward", 4 * each, 2 * tiles * of_tile)
        self.add("attention_backward_q", 6 * each, 3 * tiles * of_tile)
        self.add("attention_backward_k", 7 * each, 4 * tiles * of_tile)

    def feed_forward(self, n):
        self.product(n, self.D, self.F)
        self.product(n, self.F, self.D)
        self.add("relu_forward", 2 * self.width * n * self.F)
        self.add("relu_backward", 3 * self.width * n * self.F, launches=2)

    def layers(self):
        for layer in range(self.L):
            for _ in ("encoder", "decoder"):
                self.norm(self.N, is_bottom=layer == 0)
                self.product(self.N, self.D, 3 * self.D)
                self.attention(self.N)
                self.product(self.N, self.D, self.D)
                self.norm(self.N)
                self.feed_forward(self.N)
            self.norm(self.N)  # attention to the source
            self.product(self.N, self.D, self.D)
            self.product(self.N, self.D, 2 * self.D)
            self.attention(self.N)
            self.product(self.N, self.D, self.D)
        self.norm(self.N)
        self.norm(self.N)

    def count(self):
        D, V, N, w = self.D, self.V, self.N, self.width
        parameters = V * D + self.L * (12 * D * D + 4 * D * self.F)
        self.layers()
        chunks = -(-N // CHUNK)
        self.product(CHUNK, D, V, chunks)
        self.add("xent", 5 * w * N * V, launches=chunks)  # no cache holds all rows in flight
        self.add("embed_forward", 2 * N * D * (2 * w + 4), launches=2)
        self.add("embed_backward", 2 * N * D * (w + 8), launches=2)
        self.add("fill, squares, adam", (4 + 28) * parameters, launches=7 * self.L + 4)  # vectors are filled
        if w == 2:
            self.add("cast", 6 * parameters)

    def seconds(self, of):
        """{kernel: seconds} on a card: of each call the slower of memory and arithmetic."""
        bandwidth = SHARE_MEMORY * of["memory_gb_per_s"] * 1e9
        mixed = self.width == 2
        products = (SHARE_MIXED * of["mixed_tflops"] if mixed else SHARE_FP32 * of["fp32_tflops"])
        units = SHARE_UNITS * of["fp32_tflops"]
        out = {}
        for group, calls in self.work.items():
            rate = 1e12 * (products if "products" in group else units)
            out[group] = sum(max(n_bytes / bandwidth, operations / rate) + launches * LAUNCH
                             for n_bytes, operations, launches in calls)
        return out


def kernels_table():
    update = Update("base", 2)
    times = [update.seconds(card(name)) for name in CARDS]
    yield "| kernels | GB | TFLOP | launches |" + "".join(f" {c}, ms |" for c in CARDS)
    yield "|---|--:|--:|--:|" + "--:|" * len(CARDS)
    for group, (n_bytes, operations, launches) in update.sums().items():
        cells = "".join(f" {1e3 * t[group]:.1f} |" for t in times)
        yield (f"| {group} | {n_bytes / 1e9:.2f} | "
               f"{f'{operations / 1e12:.2f}' if operations else ''} | {launches} |{cells}")
    total = [sum(column) for column in zip(*update.sums().values())]
    yield (f"| **an update** | {total[0] / 1e9:.1f} | {total[1] / 1e12:.2f} | {total[2]} |"
           + "".join(f" **{1e3 * sum(t.values()):.0f}** |" for t in times))


def speeds_table():
    yield "| target tokens/s, predicted | V100 fp32 | V100 fp16 | A100 fp32 | A100 bf16 |"
    yield "|---|--:|--:|--:|--:|"
    for model, shape in MODELS.items():
        cells = []
        for name in CARDS:
            for width in (4, 2):
                t = sum(Update(model, width).seconds(card(name)).values())
                cells.append(f"{round(shape[5] / t, -3):,.0f}")
        yield f"| {model}, {shape[5]:,} per update | " + " | ".join(cells) + " |"


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("--docs")
    asked = options.parse_args()
    tables = ["\n".join(kernels_table()), "\n".join(speeds_table())]
    print("\n\n".join(tables))
    if asked.docs:
        docs = pathlib.Path(asked.docs).read_text()
        if not all(table in docs for table in tables):
            sys.exit(f"{asked.docs} has other tables")


if __name__ == "__main__":
    main()
