"""usage: serve_detect.py FERRY MODEL: languages are detected by the profiles of a model of en
and de."""
import sys
from serving import Server, check, equal

ferry, model = sys.argv[1:]
ENGLISH, GERMAN = "the boats wait", "die Boote warten"
with Server(ferry, f"{model}:en-de", f"{model}:de-en") as s:
    for text, language in ((ENGLISH, "en"), (GERMAN, "de")):
        guess = s.post("/detect", {"q": text}).json[0]
        check(f"{text}: {guess}", guess["language"] == language and guess["confidence"] > 50)
    answer = s.post("/translate", {"q": [GERMAN, ENGLISH], "source": "auto", "target": "de"}).json
    equal("each by itself", [d["language"] for d in answer["detectedLanguage"]], ["de", "en"])
    equal("and one is in German already", answer["translatedText"][0], GERMAN)
