"""usage: libretranslate_client.py FERRY MODEL: the client library of LibreTranslate speaks
to our server. The model translates en to de."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli"))
from libretranslatepy import LibreTranslateAPI
from serving import Server, check, equal

ferry, model = sys.argv[1:]
with Server(ferry, model) as s:
    client = LibreTranslateAPI(f"http://127.0.0.1:{s.port}/")
    text = client.translate("the new bridge", "en", "de")
    check("a translation", isinstance(text, str) and text not in ("", "the new bridge"))
    equal("the same as ours", text, s.form("/translate", q="the new bridge", source="en",
                                           target="de").json["translatedText"])
    detected = client.detect("the new bridge")
    equal("a detection", sorted(detected[0]), ["confidence", "language"])
    equal("the languages", [x["code"] for x in client.languages()], ["de", "en"])
