#!/usr/bin/env python3
"""Fail on words that have no place in the sources: calls that end or print below src/cli,
functions that overflow, marks of unfinished work; and, in what users read, "a" for "per"."""
import pathlib
import re
import sys

# pattern, the files it may stand in, what to do instead
RULES = [
    (r"\b_?(exit|_Exit|quick_exit)\s*\(", r"tests/.*|src/cli/main\.c|src/dist/comm/comm\.c",
     "return a status; only main ends the program"),
    (r"\babort\s*\(", r"tests/.*|src/base/err\.c", "use BUG_ON"),
    (r"\bf?printf\s*\(\s*(std(out|err)|\")|\b(puts|putchar|perror)\s*\(",
     r"tests/.*|bench/.*|src/cli/.*|src/base/err\.c", "nothing below src/cli prints"),
    (r"\b(strcpy|strcat|sprintf|vsprintf|strtok|gets|atoi|atol|atof)\s*\(", r"",
     "use the bounded or checking function"),
    (r"\b(TODO|FIXME|XXX|HACK)\b", r"", "finish it, or leave it out"),
    (r'"[^"]*(%s( s)?|\b(seconds|tokens|bytes|MB|updates|pairs|steps)) an? '
     r'(step|second|rank|node|update|core)\b(?! would)', r"tests/.*", 'say "per"'),
]
PAGES = [(r"\b(seconds|tokens|bytes|MB|updates|pairs|steps) an? (step|second|rank|node|update|core)\b",
          r"", 'say "per"')]


def check_line(where, line):
    for pattern, exempt, advice in PAGES if where.suffix == ".md" else RULES:
        hit = re.search(pattern, line)
        if hit and not re.fullmatch(exempt, str(where)):
            yield f"'{hit[0].strip()}': {advice}"


def main():
    n_bad = 0
    for root in sys.argv[1:] or ["src", "tests", "bench", "docs"]:
        for path in sorted(pathlib.Path(root).rglob("*")):
            if path.suffix not in (".c", ".h", ".cc", ".md"):
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                for problem in check_line(path, line):
                    print(f"{path}:{number}: {problem}")
                    n_bad += 1
    return n_bad > 0


sys.exit(main())
