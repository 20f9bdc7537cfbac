#!/usr/bin/env python3
"""Fail on functions, files and lines that are longer than a reader can hold.

The code is formatted (check_format), so a function body is what stands between a brace
alone in column 0 and the next closing brace in column 0.
"""
import pathlib
import re
import sys

FUNCTION_MAX = 70  # more only when the head comment says why it cannot be split
FUNCTION_P90 = 40
FILE_MAX = 800
COLUMNS = 90
TABLE_COLUMNS = 140  # between clang-format off and on: tables with one fact a row


def head_comment(lines, brace):
    """The comment above the declaration whose body opens at line index `brace`."""
    top = brace
    while top > 0 and lines[top - 1].strip():
        top -= 1
    return " ".join(lines[top:brace])


def functions(lines):
    """(line number of the brace, lines of the body, head comment) of each function."""
    start = None
    for i, line in enumerate(lines):
        if line == "{":
            start = i
        elif line == "}" and start is not None:
            yield start + 1, i - start - 1, head_comment(lines, start)
            start = None


def check_file(path, sizes):
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > FILE_MAX:
        yield f"{path}: {len(lines)} lines, at most {FILE_MAX}"
    limit = COLUMNS
    for number, line in enumerate(lines, 1):
        switch = re.search(r"clang-format (on|off)", line)
        if switch:
            limit = TABLE_COLUMNS if switch[1] == "off" else COLUMNS
        if len(line) > limit:
            yield f"{path}:{number}: {len(line)} columns, at most {limit}"
    for number, n, comment in functions(lines):
        sizes.append(n)
        if n > FUNCTION_MAX and not re.search(r"/\*.*\bsplit\b", comment):
            yield (f"{path}:{number}: a function of {n} lines; at most {FUNCTION_MAX}, or "
                   f"say in its head comment why it cannot be split")


def main():
    roots = sys.argv[1:] or ["src", "tests", "bench"]
    problems, sizes = [], []
    for root in roots:
        for path in sorted(pathlib.Path(root).rglob("*")):
            if path.suffix in (".c", ".h", ".cc"):
                problems += check_file(path, sizes)
    sizes.sort()
    if sizes and sizes[len(sizes) * 9 // 10] > FUNCTION_P90:
        problems.append(f"a tenth of the functions exceeds {FUNCTION_P90} lines")
    if sizes:
        print(f"{len(sizes)} functions: median {sizes[len(sizes) // 2]} lines, "
              f"p90 {sizes[len(sizes) * 9 // 10]}, longest {sizes[-1]}")
    print("\n".join(problems))
    return len(problems) > 0


sys.exit(main())
