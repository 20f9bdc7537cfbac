"""usage: markup.py FERRY MODEL N FOLDER...: N fragments of HTML and N strings with placeholders, from pages and
message catalogues that the folders hold, keep what they must on their way through the server. The model translates
en to de."""
import collections
import gettext
import html.parser
import os
import pathlib
import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli"))
from serving import Server, check, equal

ferry, model, n_wanted, *folders = sys.argv[1:]
N = int(n_wanted)
AT_ONCE = 25
VOID = set("area base br col embed hr img input link meta source track wbr".split())
HOLDER = re.compile(r"%%|%\(\w+\)[sdr]|%\d\$[sd]|(?<!\d)%[sdiux]|\{\w*\}|\$\{\w+\}|https?://[\w./-]*[\w/]")
rng = random.Random(20)


def files(ending):
    """In an order that has something of every folder early."""
    found = [pathlib.Path(where) / name for folder in folders for where, _, names in os.walk(folder) for name in names
             if name.endswith(ending)]
    found.sort()
    rng.shuffle(found)
    return found


def fragments():
    """From the beginning of some tag to the end of another."""
    for path in files((".html", ".htm", ".xhtml")):
        text = path.read_bytes()[:200000].decode("utf-8", "replace").replace("\0", "")
        body = text.find("<body")
        begins = [m.start() for m in re.finditer(r"<(?:p|div|li|td|h[1-6]|section|ul|table|span|a)\b", text[body:])]
        for at in rng.sample(begins, min(5, len(begins))):
            end = text.find(">", body + at + rng.randrange(100, 1500))
            if end > 0:
                yield text[body + at:end + 1]


def strings():
    for path in files(".mo"):
        try:
            with open(path, "rb") as f:
                catalogue = gettext.GNUTranslations(f)._catalog
        except (OSError, ValueError, LookupError):
            continue
        texts = [t for t in catalogue if isinstance(t, str) and HOLDER.search(t) and len(t) < 1000]
        yield from rng.sample(texts, min(20, len(texts)))


def first(made):
    seen = {}
    for text in made:
        seen.setdefault(text)
        if len(seen) == N:
            break
    return list(seen)


class Tags(html.parser.HTMLParser):
    """What there is but text, and how many tags lack a partner."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.parts, self.open, self.n_unpaired = collections.Counter(), [], 0
        self.feed(text)
        self.close()
        self.n_unpaired += len(self.open)

    def handle_starttag(self, tag, attrs):
        self.parts[self.get_starttag_text()] += 1
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.parts[self.get_starttag_text()] += 1

    def handle_endtag(self, tag):
        self.parts[f"</{tag}>"] += 1
        if tag in self.open:
            while self.open.pop() != tag:
                self.n_unpaired += 1
        else:
            self.n_unpaired += 1

    def handle_comment(self, data):
        self.parts[f"<!--{data}-->"] += 1


def translate(server, texts, kind):
    answer = server.post("/translate", {"q": texts, "source": "en", "target": "de", "format": kind})
    equal("status", (answer.status, len(answer.json.get("translatedText", []))), (200, len(texts)))
    return list(zip(texts, answer.json["translatedText"]))


def through(server, texts, kind):
    lists = [texts[i:i + AT_ONCE] for i in range(0, len(texts), AT_ONCE)]
    with ThreadPoolExecutor(8) as pool:
        for pairs in pool.map(lambda some: translate(server, some, kind), lists):
            yield from pairs


def main():
    n_changed = 0
    with Server(ferry, model, "char_limit=0", "body_limit=100000000", "deadline=0") as server:
        pages = first(fragments())
        for before, after in through(server, pages, "html"):
            a, b = Tags(before), Tags(after)
            equal(f"tags of {before!r}, which became {after!r}", b.parts, a.parts)
            check(f"{after!r} is nested as well as {before!r}", b.n_unpaired <= a.n_unpaired)
            n_changed += before != after
        messages = first(strings())
        for before, after in through(server, messages, "text"):
            equal(f"placeholders of {before!r}, which became {after!r}", collections.Counter(HOLDER.findall(after)),
                  collections.Counter(HOLDER.findall(before)))
            n_changed += before != after
    print(f"{len(pages)} fragments of HTML, {len(messages)} strings with placeholders; {n_changed} were translated")
    check("there are pages or catalogues to try", pages or messages)


main()
