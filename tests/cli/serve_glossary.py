"""usage: serve_glossary.py FERRY MODEL: terms of a glossary are said as given, in 1,000 random requests of every
kind. The model translates en to de; told so, it also serves as others."""
import html
import json
import os
import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from serving import Server, check, equal

ferry, model = sys.argv[1:]
SOURCE = "the new old bridge ferry river sees child".split()
TARGET = "Fluss Fähre Kind Brücke alte neue der den sieht Kinder neuen alten Brücken Kirche Sand Sicht".split()
N_CASES = 1000
rng = random.Random(20)


def make_glossary(path):
    """Terms of one to three words, each with a phrase of one to three; longer ones hold shorter ones."""
    terms = {}
    while len(terms) < 40:
        term = " ".join(rng.choice(SOURCE) for _ in range(rng.choice((1, 1, 2, 3))))
        terms[term] = " ".join(rng.choice(TARGET) for _ in range(rng.choice((1, 1, 2, 3))))
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(f"{term}\t{phrase}\n" for term, phrase in terms.items())
    return terms


def wanted(terms, words):
    """The phrases of a sentence: of terms that overlap the first, and of those that begin together the longest."""
    found, i = set(), 0
    while i < len(words):
        n = next((n for n in (3, 2, 1) if " ".join(words[i:i + n]) in terms and i + n <= len(words)), 0)
        if n:
            found.add(terms[" ".join(words[i:i + n])])
        i += n or 1
    return found


def says(text, phrase):
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text)


def sentence():
    return [rng.choice(SOURCE) for _ in range(rng.randint(1, 9))]


def as_html(words):
    """Inline tags around some of the words, and what is kept among them."""
    i = rng.randrange(len(words))
    k = rng.randint(i + 1, len(words))
    inner = "<b>" + " ".join(words[i:k]) + "</b>"
    return "<p>" + " ".join([*words[:i], inner, *words[k:]]) + "</p><!-- c -->"


def plain(text):
    return " ".join(html.unescape(re.sub(r"<!--.*?-->|<[^>]*>", "", text)).split())


def case(server, terms, kind, words):
    """Everything that is said in answer to a request of this kind, with the phrases that it must hold."""
    text = " ".join(words[0])
    if kind == "text":
        q = text + rng.choice(("", ".", " %s", "\n"))
        return [(server.post("/translate", {"q": q, "source": "en", "target": "de"}).json["translatedText"], words[0])]
    if kind == "html":
        got = server.post("/translate", {"q": as_html(words[0]), "source": "en", "target": "de", "format": "html"}).json
        check(f"tags: {got}", got["translatedText"].count("<b>") == 1 and "</p><!-- c -->" in got["translatedText"])
        return [(plain(got["translatedText"]), words[0])]
    if kind == "list":
        got = server.post("/translate", {"q": [" ".join(w) for w in words], "source": "en", "target": "de",
                                         "alternatives": 2}).json
        pairs = list(zip(got["translatedText"], words))
        return pairs + [(a, w) for others, w in zip(got["alternatives"], words) for a in others]
    if kind == "stream":
        got = server.post("/v1/translate", {"text": text, "source": "en", "target": "de", "stream": True}).body
        data = json.loads(re.search(r"event: end\ndata: (.*)\n", got)[1])
        return [(data["translations"][0]["text"], words[0])]
    got = server.post("/v1/translate", {"text": [" ".join(w) for w in words], "source": "en", "target": "de"}).json
    return [(t["text"], w) for t, w in zip(got["translations"], words)]


def run(server, terms):
    kinds = [(rng.choice(("text", "html", "list", "stream", "v1")), [sentence() for _ in range(3)])
             for _ in range(N_CASES)]
    n_said = 0
    with ThreadPoolExecutor(16) as pool:
        for kind, got in zip((k for k, _ in kinds), pool.map(lambda c: case(server, terms, *c), kinds)):
            for text, words in got:
                for phrase in wanted(terms, words):
                    check(f"{kind}: {phrase!r} in {text!r}, the translation of {' '.join(words)!r}", says(text, phrase))
                    n_said += 1
    check(f"enough of them: {n_said}", n_said > N_CASES)
    return n_said


all_terms = make_glossary("terms.tsv")
with Server(ferry, model, "glossary=terms.tsv", "reload=0.05") as s:
    equal("what the server says", s.said[0], f"en to de: {model} with terms.tsv")
    print(run(s, all_terms), "phrases said in", N_CASES, "requests")
    # another glossary while it runs; one that is wrong changes nothing
    ask = {"q": "the river", "source": "en", "target": "de"}
    with open("new.tsv", "w", encoding="utf-8") as f:
        f.write("river\tSand Kirche\n")
    os.rename("new.tsv", "terms.tsv")
    s.wait_said("terms.tsv was replaced and is loaded")
    check("the new phrase", "Sand Kirche" in s.post("/translate", ask).json["translatedText"])
    with open("new.tsv", "w", encoding="utf-8") as f:
        f.write("river\n")
    os.rename("new.tsv", "terms.tsv")
    s.wait_said("what was loaded before stays in use: terms.tsv:1")
    check("it stays", "Sand Kirche" in s.post("/translate", ask).json["translatedText"])

# each of several models has its own, and a way through a third language keeps to both
with open("de.tsv", "w", encoding="utf-8") as f:
    f.write("river\tKirche\n")
with open("fr.tsv", "w", encoding="utf-8") as f:
    f.write("Kirche\tSand\n")
with Server(ferry, model, f"{model}:de-fr", "glossary=de.tsv:en-de,fr.tsv:de-fr") as s:
    ask = {"q": "the river", "source": "en", "target": "de"}
    check("en to de", says(s.post("/translate", ask).json["translatedText"], "Kirche"))
    check("en to fr", says(s.post("/translate", {**ask, "target": "fr"}).json["translatedText"], "Sand"))
    equal("a language into itself", s.post("/translate", {**ask, "target": "en"}).json["translatedText"], "the river")
