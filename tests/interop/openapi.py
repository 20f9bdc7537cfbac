"""usage: openapi.py FERRY MODEL: the description of the plain interface is true, and a client made of it works. The
model translates en to de."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "cli"))
import openapi_python_client
import schemathesis
from serving import Server, check, equal

ferry, model = sys.argv[1:]
TEXT = "the new bridge"
N_EXAMPLES = 100


def run(*words):
    done = subprocess.run([sys.executable, "-m", *words], text=True, capture_output=True)
    check(f"{words}: {done.stdout[-4000:]}{done.stderr[-2000:]}", done.returncode == 0)


def keeps_its_word(server):
    """Answers are as described, and what the description forbids is refused. That all it allows is taken is not asked
    (positive_data_acceptance): which languages there are is a matter of /v1/directions."""
    run("schemathesis.cli", "run", f"http://127.0.0.1:{server.port}/v1/openapi.json", "--checks", "all",
        "--exclude-checks", "positive_data_acceptance", "-n", str(N_EXAMPLES), "--seed", "1", "--generation-database",
        "none")


def makes_a_client(server):
    document = server.get("/v1/openapi.json").json
    pathlib.Path("openapi.json").write_text(json.dumps(document), encoding="utf-8")
    pathlib.Path("config.yaml").write_text("post_hooks: []\n", encoding="utf-8")
    run("openapi_python_client", "generate", "--path", "openapi.json", "--output-path", "made", "--meta", "none",
        "--config", "config.yaml", "--fail-on-warning")
    sys.path.insert(0, ".")
    import made
    from made.api.default import v1directions, v1translate
    from made.models import Error, V1TranslateBody

    client = made.Client(base_url=f"http://127.0.0.1:{server.port}")
    answer = v1translate.sync(client=client, body=V1TranslateBody(text=[TEXT, TEXT], target="de", source="en",
                                                                  alternatives=1))
    want = server.post("/translate", {"q": TEXT, "source": "en", "target": "de"}).json["translatedText"]
    equal("translations", [(t.text, t.source, len(t.alternatives)) for t in answer.translations], [(want, "en", 1)] * 2)
    wrong = v1translate.sync(client=client, body=V1TranslateBody(text=TEXT, target="zz"))
    equal("an error", (type(wrong), wrong.error), (Error, "zz is not supported"))
    equal("directions", [(d.source, d.target) for d in v1directions.sync(client=client)], [("en", "de")])


with Server(ferry, model) as s:
    keeps_its_word(s)
    makes_a_client(s)
