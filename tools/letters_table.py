#!/usr/bin/env python3
"""Write src/score/letters_table.c: the categories P, S and N of Python's module regex.

sacreBLEU's tokenizer intl asks that module. 2026.11.9 has those of Unicode 17:
tools/letters_table.py >src/score/letters_table.c
"""

import regex

KINDS = [regex.compile(r"\p{%s}" % name) for name in "PSN"]


def kind_of(code):
    return next((i for i, kind in enumerate(KINDS, 1) if kind.match(chr(code))), 0)


def main():
    kinds = [kind_of(code) for code in range(0x110000)]
    entries = [4 * code + kind for code, kind in enumerate(kinds) if code == 0 or kind != kinds[code - 1]]
    print(f"/* Unicode 17, made by tools/letters_table.py: {len(entries)} entries. */")
    print('#include "score/letters.h"\n')
    print("/* clang-format off */\nconst uint32_t letters_table[] = {")
    for i in range(0, len(entries), 9):
        print("    " + ", ".join(f"{e:#x}" for e in entries[i:i + 9]) + ",")
    print("};\n/* clang-format on */\n")
    print("const size_t letters_table_n = sizeof letters_table / sizeof *letters_table;")


if __name__ == "__main__":
    main()
