"""usage: serve_words.py FERRY MODEL: links and beginnings of the plain interface are those of `ferry translate`. The
model translates en to de; told so, it also serves as de to fr."""
import json
import random
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from serving import Server, check, equal

ferry, model = sys.argv[1:]
TEXT = "the old bridge sees the river."


def translated(line, *options):
    got = subprocess.run([ferry, "translate", model, *options], input=line + "\n", text=True, capture_output=True,
                         check=True).stdout
    return got.rstrip("\n").split("\n")


def words(text):
    return [(m.start(), m.end()) for m in re.finditer(r"\S+", text)]


def check_links(s):
    """The pairs of numbers that translate prints are these characters; other lines and what stands before them count."""
    got = s.ask_for(text=TEXT, links=True)
    text, pairs = translated(TEXT, "alignments=true")[0].split("\t")
    source, target = words(TEXT), words(text)
    want = sorted([*source[int(a)], *target[int(b)]] for a, b in (p.split("-") for p in pairs.split()))
    equal("links", (got["text"], sorted(got["links"])), (text, want))
    check("some", len(want) > 3)
    check("only if asked for", "links" not in s.ask_for(text=TEXT))

    lines = ["  " + TEXT, "", "the ferry\U0001f6a2", "Brücke %s the child "]
    got = s.ask_for(text="\n".join(lines), links=True)
    said, at, all_links = got["text"].split("\n"), [0, 0], []
    for line, other in zip(lines, said):
        one = s.ask_for(text=line, links=True) if line else {"text": "", "links": []}
        equal(f"a line alone: {line}", one["text"], other)
        all_links += [[a + at[0], b + at[0], c + at[1], d + at[1]] for a, b, c, d in one["links"]]
        at = [at[0] + len(line) + 1, at[1] + len(other) + 1]
    equal("links of several lines", sorted(got["links"]), sorted(all_links))
    for a, b, c, d in got["links"]:
        check(f"words: {a} {b} {c} {d}", 0 <= a < b <= len("\n".join(lines)) and 0 <= c < d <= len(got["text"]))
    equal("of html", s.ask_for(text="<b>the river</b>", format="html", links=True)["links"], [])
    equal("of a language into itself", s.ask_for(text=TEXT, target="en", links=True)["links"], [])


def check_beginnings(s):
    for beginning in ("Die n", "Der alte ", "der", TEXT, "ü"):
        got = s.ask_for(text=TEXT, beginning=beginning, alternatives=3)
        want = [line.split(" ||| ")[1] for line in translated(f"{TEXT}\t{beginning}", "prefix=true", "alternatives=4")]
        equal(f"after '{beginning}'", [got["text"], *got["alternatives"]], want)
    for n in (0, 1, 2):  # of one server's thread one number after another
        got = s.ask_for(text=TEXT, beginning="Der alte ", alternatives=n)
        equal(f"{n} others", len(got.get("alternatives", [])), n)
    whole = s.ask_for(text=TEXT)["text"]
    got = s.ask_for(text=TEXT, beginning=" ", alternatives=3)
    equal("the first word", got["text"], whole)
    firsts = [re.match(r"\w+|.", t)[0] for t in (got["text"], *got["alternatives"])]
    equal(f"its others: {firsts}", len(set(firsts)), 4)
    got = s.ask_for(text=f"  {TEXT}", beginning="  Der")["text"]
    check(f"white space before the line: {got!r}", got.startswith("  Der") and not got.startswith("  De   "))
    for beginning in ("Der alte ", "Der\talte\t"):
        got = s.ask_for(text=TEXT.replace(" ", "\t"), beginning=beginning)["text"]
        check(f"a text with tabs: {got!r}", got.startswith("Der\talte\t"))
    begun = s.ask_for(text=TEXT, beginning="Der alte ", links=True)
    check("links of what was begun", begun["links"] and begun["text"].startswith("Der alte "))


def check_refusals(s):
    for word, values in {"for one text": {"text": ["a", "b"]}, "of one line": {"text": "the river\nthe ferry"},
                         "not for html": {"text": "the river", "format": "html"},
                         "has a line end": {"text": "the river", "beginning": "a\nb"},
                         "line 1: the given beginning has": {"text": "the river", "beginning": "die " * 3000},
                         "not a string": {"text": "the river", "beginning": 5}}.items():
        got = s.post("/v1/translate", {"source": "en", "target": "de", "beginning": "Der"} | values)
        equal(word, got.status, 400)
        check(f"{word}: {got.json}", word in got.json["error"])


PIECES = [*"the new old bridge ferry river sees child %s {name} 5 km <b> ü 🚢 $1 http://a.org >>fra<<".split(),
          "\t", "\n", "\r\n", "  ", "\0", ""]


def any_values(rng):
    def text(n):
        return " ".join(rng.choice(PIECES) for _ in range(rng.randint(0, n)))

    values = {"text": text(12), "source": "en", "target": "de", "links": rng.random() < 0.8,
              "alternatives": rng.randint(0, 4)}
    for name, value, share in (("beginning", text(6) + rng.choice(("", " ", "Die n")), 0.6), ("stream", True, 0.2),
                               ("format", "html", 0.2)):
        if rng.random() < share:
            values[name] = value
    return values


def check_any(s):
    """Whatever is asked for is answered or refused, and links are of characters that are there."""
    rng = random.Random(7)
    asked = [any_values(rng) for _ in range(400)]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda values: s.post("/v1/translate", values), asked))
    for values, answer in zip(asked, answers):
        check(f"{values}: {answer.status} {answer.body}", answer.status in (200, 400))
        if answer.status == 400 or "stream" in values:
            continue
        got = json.loads(answer.body)["translations"][0]
        for a, b, c, d in got.get("links", []):
            check(f"{values}: {got}", 0 <= a < b <= len(values["text"]) and 0 <= c < d <= len(got["text"]))
    n_good = sum(answer.status == 200 for answer in answers)
    check(f"{n_good} were answered", 100 < n_good < 400)


class Asked(Server):
    def ask_for(self, **values):
        got = self.post("/v1/translate", {"source": "en", "target": "de"} | values)
        equal(str(values), got.status, 200)
        return got.json["translations"][0]


def most(s):
    post = s.get("/v1/openapi.json").json["paths"]["/v1/translate"]["post"]
    return post["requestBody"]["content"]["application/json"]["schema"]["properties"]["alternatives"]["maximum"]


with Asked(ferry, model, f"{model}:de-fr", "requests=1") as server:
    check_links(server)
    check_beginnings(server)
    check_refusals(server)
    check_any(server)
    equal("the most", most(server), 3)
    through = server.ask_for(text=TEXT, target="fr", beginning="Der alte ", links=True)
    check(f"through a third language: {through}", through["text"].startswith("Der alte ") and through["links"])
with Asked(ferry, model, "beam=2") as server:
    equal("the most of a narrow beam", most(server), 1)
