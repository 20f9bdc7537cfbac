"""usage: serve_detect.py FERRY KNOWN RUN PLAIN: languages are detected by the profiles of a packed model or of a run's
data, of en and de, and where PLAIN, a model of en, has none by frequent words."""
import os
import shutil
import struct
import sys
from serving import Server, check, equal

ferry, known, run, plain = sys.argv[1:]
ENGLISH, GERMAN = "the boats wait", "die Boote warten"
FRENCH = "Il a dit que ce n'est pas la maison que vous voyez dans la rue."
PORTUGUESE = "Ele disse que não é a casa que você vê da estrada, mas uma outra."
UNKNOWN = [{"confidence": 0, "language": "en"}]


def detect(s, text):
    guesses = s.post("/detect", {"q": text}).json
    order = [g["confidence"] for g in guesses]
    check(f"best first: {guesses}", order == sorted(order, reverse=True) and sum(order) <= 201)
    return guesses


def is_sure(s, text, language):
    guess = detect(s, text)[0]
    check(f"{text}: {guess}, want {language}", guess["language"] == language and guess["confidence"] > 50)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def change_profiles(path, change):
    """The profiles of a packed model are changed in place, and get the checksums that belong to them."""
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        table, n = struct.unpack_from("<QI", data, 24)
        for entry in range(table, table + 64 * n, 64):
            if data[entry:entry + 32].rstrip(b"\0") == b"profiles":
                at, size = struct.unpack_from("<QQ", data, entry + 32)
                change(data, at)
                struct.pack_into("<I", data, entry + 48, crc32c(data[at:at + size]))
        struct.pack_into("<I", data, 36, crc32c(data[table:table + 64 * n]))
        struct.pack_into("<I", data, 60, crc32c(data[:60]))
        f.seek(0)
        f.write(data)


def make_newer(data, at):
    struct.pack_into("<I", data, at + 8, 2)


def rename(data, at):
    for i, name in enumerate((b"pt", b"pt-BR")):
        struct.pack_into("16s", data, at + 16 + i * (16 + (1 << 15)), name)


for model in (known, run):
    with Server(ferry, f"{model}:en-de", f"{model}:de-en") as s:
        is_sure(s, ENGLISH, "en")
        is_sure(s, GERMAN, "de")
        equal("unknown", [detect(s, text) for text in ("4711", "Добрый день")], [UNKNOWN] * 2)
        answer = s.post("/translate", {"q": [GERMAN, ENGLISH], "source": "auto", "target": "de"}).json
        equal("each by itself", [d["language"] for d in answer["detectedLanguage"]], ["de", "en"])
        equal("and one is in German already", answer["translatedText"][0], GERMAN)
        html = {"q": f'<p lang="de" title="die und der">{ENGLISH} &auml;</p>', "source": "auto", "target": "de", "format": "html"}
        equal("tags are in no language", s.post("/translate", html).json["detectedLanguage"]["language"], "en")
        for q in (f"5 < 6, {GERMAN}", f"{GERMAN} R&uuml;ck &lt; vor", f"<script>{ENGLISH * 9}</script>{GERMAN}",
                  f"<style>/* {ENGLISH * 9} */</style><p>{GERMAN}</p>", f"<b>die Boo</b>te war<i>ten</i>"):
            html["q"] = q
            equal(q, s.post("/translate", html).json["detectedLanguage"]["language"], "de")
        html["q"] = "<p>4711</p>"
        equal("nothing to tell it by", s.post("/translate", html).json["detectedLanguage"], UNKNOWN[0])
        equal("several", sorted(g["language"] for g in detect(s, "die the")), ["de", "en"])

# a model without profiles beside one that has them; of two ways to write a language one is served
with Server(ferry, f"{known}:en-de", f"{known}:de-en", f"{plain}:fr-en", f"{plain}:pb-en", f"{plain}:zt-en") as s:
    for text, language in ((ENGLISH, "en"), (GERMAN, "de"), (FRENCH, "fr"), (PORTUGUESE, "pt-BR"),
                           ("他说这不是你从路上看到的那座房子", "zh-Hant")):
        is_sure(s, text, language)

# two profiles that are one language here are as sure as both together
shutil.copy(known, "one.ferry")
change_profiles("one.ferry", rename)
with Server(ferry, f"{known}:en-de", f"{known}:de-en") as s:
    apart = [g["confidence"] for g in detect(s, "die the")]
with Server(ferry, "one.ferry:pt-en") as s:
    together = [g["confidence"] for g in detect(s, "die the")]
    check(f"{together} of {apart}", len(apart) == 2 and len(together) == 1 and abs(sum(apart) - together[0]) <= 1)

# a newer file brings its profiles
shutil.copy(plain, "live.ferry")
with Server(ferry, "live.ferry:en-de", "live.ferry:de-en", "reload=0.05") as s:
    check("by words alone", detect(s, GERMAN)[0]["confidence"] <= 50)
    shutil.copy(known, "next.tmp")
    os.rename("next.tmp", "live.ferry")
    s.wait_said("live.ferry was replaced and is loaded")
    is_sure(s, GERMAN, "de")

# profiles of a newer version are not understood; the model is
shutil.copy(known, "newer.ferry")
change_profiles("newer.ferry", make_newer)
with Server(ferry, "newer.ferry") as s:
    s.wait_said("newer.ferry: its languages are detected by frequent words: the profiles of languages have version 2, "
                "which is newer; this program reads 1")
    equal("it translates", s.post("/translate", {"q": ENGLISH, "source": "en", "target": "de"}).status, 200)
    is_sure(s, "It was not he who said that to you.", "en")
