"""usage: hostile.py make DIR... | html FILE... | md FILE... | json FILE... | text FILE...

make: runs whose every name, value and sentence tries to be more than text. The others fail
when one of them got through: markup that the page does not write itself, a letter that a
browser or a terminal obeys instead of showing it, bytes that are no UTF-8.
"""
import html.parser
import json
import os
import re
import sys
import unicodedata

MARK = "HOSTILE"
EVIL = (f"</td></title></style>--><script>{MARK}</script><img src=x onerror={MARK}()>"
        f"\"' onmouseover='{MARK} &amp; &#60; \x1b[2J\x1b]0;{MARK}\x07\x9b31m\x7f\r\n# OBEYED\n"
        f"|*{MARK}*|`x`[{MARK}](javascript:{MARK}) $x$ \u202e\u2066{MARK}\u2028\ufffe"
        "\u200f\u05d0\u0301\u4e2d\U0001f6a2" + "W" * 10000)
HOSTS = ("\u4e2d" * 20 + EVIL, "\u00e4" + EVIL)
TAGS = set("""html head meta title style body main p h1 h2 h3 ul li b i span small table thead tbody
tr th td section div figure figcaption svg path line circle rect text details summary footer a
progress code polyline g nav""".split())
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff]")


def make(run):
    os.makedirs(run)
    os.makedirs("data", exist_ok=True)
    with open(run + "/run.jsonl", "w", encoding="utf-8") as out:
        def put(event, t, **more):
            out.write(json.dumps(dict(event=event, t=1.7e9 + t, **more)) + "\n")
        put("start", 0, step=0, version=EVIL, resumed=False, host=EVIL, device=EVIL, threads=1, ranks=2,
            nodes=2, parameters=1000, processors=1, data=dict(train_pairs=5),
            network=dict(mb_per_s=100, latency_s=1e-4, library=EVIL),
            config={EVIL: EVIL, "lr_policy": EVIL, "max_steps": 100, "data": "data", "seed": ascii(run) + EVIL})
        for step in range(1, 41):
            ranks = [dict(rank=r, host=HOSTS[r], t_step=1.0, t_data=0.3, t_compute=0.5 + 0.1 * r,
                          t_comm=0.1, t_hidden=0, t_update=0.01, cores=0.9, memory_mib=100 + 9 * step,
                          cards={EVIL: dict(sent=1, received=1, errors=1)}) for r in range(2)]
            put("ranks", step, step=step, slowest=1, ranks=ranks)
            put("step", step, step=step, loss=9 / step, rate=0.1, steps=1, t_step=1.0, t_data=0.3,
                t_compute=0.5, t_comm=0.1, t_hidden=0, t_update=0.01, skipped=1)
            if step % 5 == 0:
                put("eval", step, step=step, valid_loss=9 / step, bleu=step, seconds=1, bleu_signature=EVIL)
        put("sample", 41, step=40, source=EVIL, reference=EVIL, translation=EVIL)
        put("save", 41, step=40, path=EVIL, bytes=1, seconds=1)
        put("best", 41, step=40, path=EVIL, bleu=1)
        put("skip", 41, step=40, reason=EVIL)
        put("test", 41, step=40, name=EVIL, bleu=1, bleu_signature=EVIL)
        put(EVIL, 41, step=40)
        put("stop", 42, step=40, reason="error", message=EVIL)
    with open("data/prepare.json", "w", encoding="utf-8") as out:
        json.dump({"pairs_in": 9, "pairs_kept": 5, "dropped": {EVIL[:200]: 4}}, out)
    with open(os.fsencode(run) + b"/model.ckpt-40.<b>" + MARK.encode() + b"\xff\x1b[2J.index", "w") as out:
        out.write(EVIL)


class Page(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        if tag not in TAGS:
            sys.exit(f"<{tag}> is not of the page")
        for name, value in attrs:
            if name.startswith("on") or name in ("style", "src") or (
                    name == "href" and not re.fullmatch("(/report)?(#[a-z-]+)?", value)):
                sys.exit(f"<{tag} {name}> is not of the page")
            if MARK in (value or "") and name not in ("aria-label", "data-label"):
                sys.exit(f"<{tag} {name}> holds a foreign text")

    def handle_comment(self, data):
        sys.exit("a comment is not of the page")


def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def check_columns(text):
    """80 at most, and the hosts of the ranks take the same."""
    for line in text.splitlines():
        if width(line) > 80:
            sys.exit(f"wider than 80 columns: {line}")
    rows = re.findall(r"^ {3}\d (.*?) +1\.000s", text, re.M)
    ends = {width(line[:line.index("1.000s")]) for line in text.splitlines() if "1.000s" in line}
    if len(rows) != 2 or len(ends) != 1:
        sys.exit(f"ranks {rows} end in columns {ends}")


def check(kind, path):
    with open(path, "rb") as f:
        text = f.read().decode("utf-8")  # or it fails
    if MARK not in text:
        sys.exit(f"{path}: the hostile text is not shown at all")
    if kind == "json":
        json.loads(text)
        return
    found = OBEYED.search(text)
    if found:
        sys.exit(f"{path}: {found.group()!r} in {text[max(0, found.start() - 40):found.end() + 20]!r}")
    if kind == "html":
        page = Page()
        page.feed(text)
        page.close()
    if kind == "md" and re.search(r"[<>]|(?<!\\)[`\[\]$]|^# OBEYED", text, re.M):
        sys.exit(f"{path}: Markdown would obey it")
    if kind == "text":
        check_columns(text)


for argument in sys.argv[2:]:
    if sys.argv[1] == "make":
        make(argument)
    else:
        check(sys.argv[1], argument)
