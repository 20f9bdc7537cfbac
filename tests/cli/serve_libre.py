"""usage: serve_libre.py FERRY MODEL: LibreTranslate's interface, as its own tests and its
clients use it. The model translates en to de; told so, it also serves as others."""
import sys
from serving import Server, check, equal

ferry, model = sys.argv[1:]
TEXT = "the new bridge"


def missing(server, path, values, name):
    for answer in (server.post(path, values), server.form(path, **values)):
        equal(f"{path} {values}", (answer.status, answer.json),
              (400, {"error": f"Invalid request: missing {name} parameter"}))


with Server(ferry, model, f"{model}:de-fr", f"{model}:pb-zt", "char_limit=500", "batch_limit=5") as s:
    equal("what the server says", s.said[:3], [f"en to de: {model}", f"de to fr: {model}",
                                               f"pt-BR to zh-Hant: {model}"])
    # /translate
    one = s.post("/translate", {"q": TEXT, "source": "en", "target": "de"})
    equal("a text", (one.status, list(one.json), type(one.json["translatedText"])),
          (200, ["translatedText"], str))
    check("it is translated", one.json["translatedText"] not in ("", TEXT))
    check("JSON", one.headers["Content-Type"].startswith("application/json"))
    best = one.json["translatedText"]
    equal("a form", s.form("/translate", q=TEXT, source="en", target="de").json, one.json)
    equal("a query", s.ask("POST", "/translate?q=the+new%20bridge&source=en&target=de").json, one.json)
    multi = ("--xx\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\n" + TEXT + "\r\n"
             "--xx\r\nContent-Disposition: form-data; name=\"source\"\r\n\r\nen\r\n"
             "--xx\r\nContent-Disposition: form-data; name=\"target\"\r\n\r\nde\r\n--xx--\r\n")
    equal("a multipart form", s.ask("POST", "/translate", multi, {
        "Content-Type": "multipart/form-data; boundary=xx"}).json, one.json)
    equal("codes in capitals", s.post("/translate", {"q": TEXT, "source": "EN", "target": "De"}).json, one.json)
    equal("a region that no model has", s.post("/translate", {"q": TEXT, "source": "en-US", "target": "de_AT"}).json, one.json)
    many = s.post("/translate", {"q": [TEXT, "", "a bridge"], "source": "en", "target": "de"}).json
    equal("a list", (len(many["translatedText"]), many["translatedText"][:2]), (3, [best, ""]))
    equal("into itself", s.post("/translate", {"q": "Hi,  all", "source": "en", "target": "en"}).json,
          {"translatedText": "Hi,  all"})
    two = s.post("/translate", {"q": TEXT, "source": "en", "target": "fr"})
    equal("through a third language", two.status, 200)
    equal("which is two models one after the other", two.json["translatedText"],
          s.post("/translate", {"q": best, "source": "de", "target": "fr"}).json["translatedText"])
    lines = s.post("/translate", {"q": f"{TEXT}\r\n\n  {TEXT} \n\U0001F600\n", "source": "en", "target": "de"}).json
    equal("line ends and white space", lines["translatedText"], f"{best}\r\n\n  {best} \n\U0001F600\n")
    equal("line ends of a form", s.form("/translate", q=f"{TEXT}\r\n{TEXT}", source="en", target="de").json,
          {"translatedText": f"{best}\n{best}"})
    equal("emoji", s.post("/translate", {"q": "\U0001F600 \U0001F680", "source": "en", "target": "de"}).json,
          {"translatedText": "\U0001F600 \U0001F680"})
    auto = s.post("/translate", {"q": TEXT, "source": "auto", "target": "fr"}).json
    equal("detected", sorted(auto["detectedLanguage"]), ["confidence", "language"])
    auto = s.post("/translate", {"q": [TEXT, TEXT], "source": "auto", "target": "fr"}).json
    equal("a list of them", [sorted(d) for d in auto["detectedLanguage"]], [["confidence", "language"]] * 2)
    three = s.post("/translate", {"q": TEXT, "source": "en", "target": "de", "alternatives": 3}).json
    equal("the best stays", three["translatedText"], best)
    others = three["alternatives"]
    check("alternatives differ", 0 < len(others) <= 3 and len({best, *others}) == 1 + len(others))
    equal("of a form", s.form("/translate", q=TEXT, source="en", target="de", alternatives="3").json, three)
    listed = s.post("/translate", {"q": [TEXT], "source": "en", "target": "de", "alternatives": 3}).json
    equal("a list of lists", listed["alternatives"], [others])

    # what is wrong with a request
    full = {"q": TEXT, "source": "en", "target": "de"}
    for name in full:
        missing(s, "/translate", {k: v for k, v in full.items() if k != name}, name)
        missing(s, "/translate", {**full, name: ""}, name)
    missing(s, "/detect", {}, "q")

    def refused(error, **change):
        answer = s.post("/translate", {**full, **change})
        equal(str(change), (answer.status, answer.json), (400, {"error": error}))

    refused("zz is not supported", source="zz")
    refused("zz is not supported", target="zz")
    refused("English (en) is not available as a target language from German (de)", source="de", target="en")
    refused("xml format is not supported", format="xml")
    refused("Invalid request: alternatives parameter is not a number", alternatives="x")
    refused("Invalid request: alternatives parameter must be <= 3", alternatives=4)
    refused("Invalid request: request (501) exceeds text limit (500)", q="ü" * 501)
    refused("Invalid request: request (502) exceeds text limit (500)", q=["ü" * 251] * 2)
    refused("Invalid request: request (6) exceeds text limit (5)", q=["a"] * 6)
    for q in (5, {"a": 1}, ["a", 5], [["a"]]):
        equal(str(q), s.post("/translate", {**full, "q": q}).status, 400)
    for body in ("", "{", "[]", "5", '"q"', "null", '{"q": "\\ud800"}', "{\"q\": \"\xff\"}", "[" * 100000):
        answer = s.ask("POST", "/translate", body.encode("latin-1"), {"Content-Type": "application/json"})
        equal(body[:20], (answer.status, answer.json), (400, {"error": "Invalid JSON format"}))
    for path in ("/translate", "/detect"):
        for method in ("GET", "PUT"):
            answer = s.ask(method, path)
            equal(f"{method} {path}", (answer.status, answer.headers["Allow"]), (405, "POST, OPTIONS"))
        equal(f"{path} without values", s.ask("POST", path).json, {"error": "Invalid request: missing q parameter"})
    for path in ("/languages", "/frontend/settings", "/health", "/spec"):
        answer = s.ask("POST", path)
        equal(f"POST {path}", (answer.status, answer.headers["Allow"]), (405, "GET, HEAD, OPTIONS"))
    for path in ("/x", "/translate/", "//translate", "/translate_file/x", "/../etc/passwd"):
        equal(path, s.get(path).status, 404)
        check("an error is JSON", "error" in s.get(path).json)

    # the other routes
    detected = s.post("/detect", {"q": TEXT})
    equal("/detect", (detected.status, [sorted(d) for d in detected.json]), (200, [["confidence", "language"]]))
    equal("/detect without a clue", s.post("/detect", {"q": "4711"}).json, [{"confidence": 0, "language": "en"}])
    off = s.post("/suggest", {"q": TEXT, "s": best, "source": "en", "target": "de"})
    equal("/suggest", (off.status, off.json), (403, {"error": "Suggestions are disabled on this server."}))
    equal("/detect of a form", s.form("/detect", q=TEXT).json, detected.json)
    equal("/languages", s.get("/languages").json, [
        {"code": "de", "name": "German", "targets": ["de", "fr"]},
        {"code": "en", "name": "English", "targets": ["de", "en", "fr"]},
        {"code": "fr", "name": "French", "targets": ["fr"]},
        {"code": "pt-BR", "name": "Portuguese (Brazil)", "targets": ["pt-BR", "zh-Hant"]},
        {"code": "zh-Hant", "name": "Chinese (traditional)", "targets": ["zh-Hant"]}])
    for code in ("pb", "pt-br", "PT-BR"):
        for target in ("zt", "zh-TW", "zh-hant"):
            equal(f"{code} to {target}", s.post("/translate", {**full, "source": code, "target": target}).status, 200)
    settings = s.get("/frontend/settings").json
    equal("settings", sorted(settings), sorted((
        "charLimit", "frontendTimeout", "apiKeys", "keyRequired", "suggestions", "filesTranslation",
        "supportedFilesFormat", "language")))
    equal("its limit", (settings["charLimit"], settings["apiKeys"], settings["keyRequired"]), (500, False, False))
    equal("its languages", (sorted(settings["language"]), settings["language"]["source"]["code"]),
          (["source", "target"], "auto"))
    equal("/health", s.get("/health").json, {"status": "ok"})
    spec = s.get("/spec").json
    equal("/spec", (spec["swagger"], "/translate" in spec["paths"], "/detect" in spec["paths"]), ("2.0", True, True))
    equal("HEAD", (s.ask("HEAD", "/languages").status, s.ask("HEAD", "/languages").body), (200, ""))
    for answer in (one, s.get("/languages"), s.get("/x"), s.ask("OPTIONS", "/translate")):
        for name, value in (("Origin", "*"), ("Headers", "Authorization, Content-Type"), ("Methods", "GET, POST"),
                            ("Credentials", "true")):
            equal(name, answer.headers[f"Access-Control-Allow-{name}"], value)
        equal("Max-Age", answer.headers["Access-Control-Max-Age"], "1728000")

    # as clients send it
    weblate = s.post("/translate", {"q": [TEXT], "source": "en", "target": "de", "api_key": ""},
                     Accept="application/json", **{"User-Agent": "Weblate/5.9"})
    equal("Weblate", weblate.json["translatedText"], [best])
    check("Weblate's languages", "en" in [x["code"] for x in s.get("/languages").json])
    discourse = s.form("/detect", q=TEXT)
    check("Discourse's detection", discourse.json[0]["language"] in ("en", "de", "pt-BR"))
    equal("Discourse", s.form("/translate", q=TEXT, source="en", target="de", format="text").json["translatedText"], best)
    equal("OmegaT", s.form("/translate", q=TEXT, source="en", target="de", api_key="").json["translatedText"], best)

    mastodon = s.post("/translate", {"q": [f"<p>{TEXT} <span translate=\"no\">:smile:</span></p>", "<p>a &amp; b</p>"],
                                     "source": "auto", "target": "fr", "format": "html", "api_key": None},
                      Accept="application/json")
    equal("Mastodon", (mastodon.status, len(mastodon.json["translatedText"]), len(mastodon.json["detectedLanguage"])),
          (200, 2, 2))
    equal("its languages", [d["language"] for d in mastodon.json["detectedLanguage"]], ["en", "en"])
    check("its emoji", '<span translate="no">:smile:</span>' in mastodon.json["translatedText"][0])

    # markup and placeholders
    html = '<div class="x"><p>the <b>new</b> bridge</p><!-- c --><br/>\n<p>a<i>b</i> &lt; c</p></div>'
    answer = s.post("/translate", {"q": html, "source": "en", "target": "de", "format": "html", "alternatives": 2}).json
    for part in ('<div class="x"><p>', "<b>", "</b>", "</p><!-- c --><br/>\n<p>", "<i>", "</i>", "</p></div>"):
        equal(f"{part} in {answer}", answer["translatedText"].count(part), 1)
    equal("no alternatives of HTML", answer["alternatives"], [])
    for target in ("de", "fr"):
        kept = s.post("/translate", {"q": "the %s bridge {name} at http://a.example/b", "source": "en", "target": target}).json
        for part in ("%s", "{name}", "http://a.example/b"):
            equal(f"{part} in {kept}", kept["translatedText"].count(part), 1)

    # the plain interface
    plain = s.post("/v1/translate", {"text": [TEXT, "x"], "source": "en", "target": "de", "alternatives": 1})
    equal("plain", (plain.json["translations"][0]["text"], plain.json["translations"][0]["source"]), (best, "en"))
    equal("plain alternatives", plain.json["translations"][0]["alternatives"], others[:1])
    check("detected", "confidence" in s.post("/v1/translate", {"text": TEXT, "target": "fr"}).json["translations"][0])
    for name, value, want in (("text", ["a", 5], "a string or a list of strings"), ("source", ["en"], "a string"),
                              ("source", None, "a string"), ("alternatives", "1", "a number, 0 or more"),
                              ("alternatives", -1, "a number, 0 or more"), ("stream", "yes", "true or false")):
        answer = s.post("/v1/translate", {"text": TEXT, "target": "de", name: value})
        equal(f"{name} {value}", (answer.status, answer.json),
              (400, {"error": f"Invalid request: {name} parameter is not {want}"}))
    equal("not JSON", s.form("/v1/translate", text=TEXT, target="de").status, 415)
    equal("directions", [d for d in s.get("/v1/directions").json if d["source"] == "en"],
          [{"source": "en", "target": "de"}, {"source": "en", "target": "fr", "through": "de"}])
    stream = s.post("/v1/translate", {"text": f"{TEXT}\n" * 9, "source": "en", "target": "de", "stream": True})
    equal("its type", stream.headers["Content-Type"], "text/event-stream")
    events = [e.split("\n") for e in stream.body.split("\n\n")[:-1]]
    equal("events", [e[0] for e in events], ["event: line"] * 9 + ["event: end"])
    check("a line", f'"line":3,"translation":"{best}\\n"' in events[3][1])
    document = s.get("/v1/openapi.json").json
    equal("OpenAPI", (document["openapi"][:2], sorted(document["paths"])),
          ("3.", ["/health", "/v1/directions", "/v1/translate"]))

    # the page
    page = s.get("/")
    check("a page", page.status == 200 and "<textarea" in page.body and "<script>" not in page.body
          and " style=" not in page.body and "http" not in page.body)
    check("its policy", "default-src 'none'" in page.headers["Content-Security-Policy"])
    for path, kind in (("/app.js", "text/javascript"), ("/style.css", "text/css")):
        check(path, s.get(path).headers["Content-Type"].startswith(kind))
    equal("counted", s.metric('ferry_requests_total{path="/spec",status="200"}'), 1)
    check("times", s.metric("ferry_translation_seconds_count") > 20)
