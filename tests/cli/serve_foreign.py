"""usage: serve_foreign.py FERRY MODEL TEXT SAID: a model of another program is served where it lies; texts become what
`ferry translate` said, also when its files were replaced."""
import os
import shutil
import sys
from serving import Server, equal

ferry, model, *files = sys.argv[1:]
text, said = (open(name, encoding="utf-8").read().splitlines() for name in files)

def translated(s):
    return s.post("/translate", {"q": text, "source": "en", "target": "de"}).json["translatedText"]


with Server(ferry, f"{model}:en-de") as s:
    equal(model, translated(s), said)
if os.path.isdir(model):
    shutil.copytree(model, "live")
    with open("terms.tsv", "w") as f:
        f.write(f"no such term\t{said[0].split()[0]}\n")
    with Server(ferry, "live:en-de", "glossary=terms.tsv", "reload=0.05") as s:
        for name in os.listdir("live"):
            shutil.copy(f"live/{name}", "next.tmp")
            os.rename("next.tmp", f"live/{name}")
        s.wait_said("live was replaced and is loaded")
        equal(model, translated(s), said)
        with open("next.tmp", "w") as f:
            f.write(f"another term\t{said[0].split()[0]}\n")
        os.rename("next.tmp", "terms.tsv")
        s.wait_said("terms.tsv was replaced and is loaded")
    # a part is overwritten by one of the same size that is older, which the newest part does not tell
    part = next(f"live/{name}" for name in sorted(os.listdir("live")) if name.endswith((".json", ".yml")))
    os.utime(part, (1000000000, 1000000000))
    for name in ("live", "live/model.npz"):
        if os.path.exists(name):
            with Server(ferry, f"{name}:en-de", "reload=0.05") as s:
                os.utime(part, (os.stat(part).st_mtime - 100,) * 2)
                s.wait_said(f"{name} was replaced and is loaded")
                equal(name, translated(s), said)
    shutil.rmtree("live")
