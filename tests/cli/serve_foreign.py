"""usage: serve_foreign.py FERRY MODEL TEXT SAID: a model of another program is served where it lies; texts become what
`ferry translate` said."""
import sys
from serving import Server, equal

ferry, model, *files = sys.argv[1:]
text, said = (open(name, encoding="utf-8").read().splitlines() for name in files)
with Server(ferry, f"{model}:en-de") as s:
    equal(model, s.post("/translate", {"q": text, "source": "en", "target": "de"}).json["translatedText"], said)
