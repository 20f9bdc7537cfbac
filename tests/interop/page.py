"""usage: page.py FERRY MODEL DIR

Opens the page of a server in Chromium, through its debugging pipe: types, points, clicks and reads as somebody would,
asks the browser for the names that a screen reader says, measures contrasts, and lets axe-core look for what else shuts
people out, if it is installed. Pictures go to DIR.
"""
import base64
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

try:
    import axe_core_python
except ImportError:
    axe_core_python = None

SECONDS = 30


class Browser:
    """A command a call; messages are JSON that ends with a NUL, on descriptors 3 and 4."""

    def __init__(self, home):
        to_read, self.out = os.pipe()
        self.back, to_write = os.pipe()
        words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                 f"--user-data-dir={home}", "about:blank"]

        def arrange():
            low = os.dup(to_read), os.dup(to_write)
            os.dup2(low[0], 3)
            os.dup2(low[1], 4)

        self.process = subprocess.Popen(words, preexec_fn=arrange, close_fds=False, start_new_session=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.rest, self.n, self.session = b"", 0, None
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def call(self, method, **params):
        self.n += 1
        message = {"id": self.n, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                self.rest += os.read(self.back, 1 << 20)
            line, _, self.rest = self.rest.partition(b"\0")
            answer = json.loads(line)
            if answer.get("id") == self.n:
                assert "error" not in answer, answer
                return answer["result"]

    def read(self, script):
        got = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in got, got
        return got["result"].get("value")

    def until(self, script):
        end = time.time() + SECONDS
        while not self.read(script):
            assert time.time() < end, f"never true: {script}; the page says: {self.read('document.body.innerText')}"
            time.sleep(0.05)

    def key(self, name, code):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code)

    def point(self, selector, click=False):
        """At the middle of the element."""
        x, y = self.read(f"(() => {{ const e = {selector}; e.scrollIntoView({{ block: 'nearest' }}); "
                         "const b = e.getBoundingClientRect(); "
                         "return [b.left + b.width / 2, b.top + b.height / 2]; })()")
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if click else ():
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def close(self):
        """Until the last of its processes is gone, which would write into its home until then."""
        self.process.terminate()
        self.process.wait()
        end = time.time() + SECONDS
        try:
            while time.time() < end:
                os.killpg(self.process.pid, signal.SIGKILL)
                time.sleep(0.05)
        except ProcessLookupError:
            pass


def serve(ferry, model, *options):
    server = subprocess.Popen([ferry, "serve", model, "--port", "0", *options], stdout=subprocess.PIPE, text=True)
    for line in server.stdout:
        found = re.match(r"http://\S+", line)
        if found:
            return server, found[0]
    sys.exit("the server did not start")


def expected(ferry, model, text):
    return subprocess.run([ferry, "translate", model], input=text + "\n", text=True, capture_output=True,
                          check=True).stdout.rstrip("\n")


CONTRASTS = """
(() => {
  const rgb = (s) => s.match(/[\\d.]+/g).map(Number);
  const channel = (c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = (s) => { const [r, g, b] = rgb(s).map(channel); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if ((rgb(c)[3] ?? 1) > 0) return c;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? "rgb(18, 18, 18)" : "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.closest("[aria-hidden]") &&
    [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())).map((e) => {
      const a = light(getComputedStyle(e).color), b = light(ground(e));
      return [e.tagName + "#" + e.id, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
    });
})()
"""


def check_contrasts(browser, what):
    for name, ratio in browser.read(CONTRASTS):
        assert ratio >= 4.5, f"{what}: {name} has a contrast of {ratio:.2f}, want 4.5"


def check_names(browser):
    """What can be used has a name; the page has one main part, a heading, a language and a title."""
    browser.call("Accessibility.enable")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    roles = [n["role"]["value"] for n in nodes if not n["ignored"]]
    for node in nodes:
        role = node["role"]["value"]
        if not node["ignored"] and role in ("button", "combobox", "textbox", "link", "status", "listbox", "menulist"):
            name = node.get("name", {}).get("value", "")
            assert name or role == "status", f"a {role} without a name"
    assert roles.count("main") == 1 and "heading" in roles, roles
    assert browser.read("document.documentElement.lang") == "en" and browser.read("document.title")
    ids = browser.read("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids)), "an id that stands twice"
    assert browser.read("document.querySelector('meta[name=viewport]').content").find("user-scalable=no") < 0


def check_axe(browser, what):
    """axe-core's rules of WCAG 2.2 A and AA, and its best practices."""
    if axe_core_python is None:
        return
    browser.read((pathlib.Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8") + "; 0")
    found = browser.read("axe.run().then((r) => ({ n: r.passes.length, bad: r.violations.map((v) => "
                         "[v.id, v.help, v.nodes.map((n) => n.html)]) }))")
    assert found["n"] > 20 and not found["bad"], f"{what}: {found}"


def ask(url, **values):
    request = urllib.request.Request(url + "v1/translate", json.dumps(values | {"source": "en", "target": "de"}).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["translations"][0]


WORD = "document.querySelectorAll('#result .word')[{}]"
MARKS = "[...document.querySelectorAll('#marks mark')].map((e) => e.textContent)"
BUTTONS = "[...document.querySelectorAll('#alternatives button')].map((e) => e.textContent)"


def check_words(browser, url, text, pictures):
    """Pointed at, a word shows where it comes from; clicked, what could stand in its place; by keyboard as well."""
    result = browser.read("document.getElementById('result').textContent")
    links = ask(url, text=text, links=True)["links"]
    words = [(m.start(), m.end()) for m in re.finditer(r"\w+", result)]
    for i, (begin, end) in enumerate(words):
        browser.point(WORD.format(i))
        want = [text[a:b] for a, b, c, d in sorted(links) if c < end and d > begin]
        browser.until(f"{MARKS}.join('|') === {json.dumps('|'.join(want))}")
    assert any(b - a for a, b, *_ in links), links
    box = browser.read("['marks', 'text'].map((id) => { const e = document.getElementById(id), b = "
                       "e.getBoundingClientRect(); return [b.left, b.top, e.clientWidth, getComputedStyle(e).font]; })")
    assert box[0] == box[1], f"the marks do not lie under the text: {box}"
    check_axe(browser, "pointing")
    browser.picture(pictures / "words.png")

    browser.point(WORD.format(1), click=True)
    browser.until("document.getElementById('others-label').textContent.startsWith('Instead of ')")
    begin, _ = words[1]
    others = browser.read(BUTTONS)
    want = ask(url, text=text, beginning=result[:begin], alternatives=3)
    assert others == [t for t in (want["text"], *want["alternatives"]) if t != result], (others, want)
    assert others and all(t.startswith(result[:begin]) for t in others), others
    check_axe(browser, "others")
    browser.picture(pictures / "others.png")
    browser.point("document.querySelector('#alternatives button')", click=True)
    browser.until(f"document.getElementById('result').textContent === {json.dumps(others[0])}")
    assert browser.read("document.activeElement.id") == "result"
    browser.until("shown.links.length > 0")

    browser.key("ArrowRight", 39)
    first = re.search(r"\w+", others[0])[0]
    browser.until(f"document.getElementById('status').textContent.startsWith({json.dumps(first)})")
    browser.key("Enter", 13)
    browser.until(f"document.getElementById('others-label').textContent === {json.dumps('Instead of ' + first)}")


def check_sentences(browser):
    """Another word changes its sentence alone, in a text of several lines and sentences."""
    browser.read("document.getElementById('text').value = 'the bridge. the river.\\nthe child'; soon()")
    browser.until("shown.text.endsWith('child') && running === null")
    lines = browser.read("document.getElementById('result').textContent").split("\n")
    last = browser.read("words.length - 1")
    browser.point(WORD.format(last), click=True)
    browser.until("document.getElementById('others-label').textContent.startsWith('Instead of ')")
    browser.point("document.querySelector('#alternatives button')", click=True)
    browser.until(f"shown.translation !== {json.dumps(chr(10).join(lines))}")
    after = browser.read("document.getElementById('result').textContent").split("\n")
    assert after[0] == lines[0] and after[1] != lines[1] and len(after) == 2, (lines, after)


def use(browser, url, ferry, model, pictures):
    text = "the ferry crosses the river"
    browser.call("Page.enable")
    browser.call("Log.enable")
    browser.call("Page.navigate", url=url)
    browser.until("document.readyState === 'complete' && document.getElementById('target').value !== ''")
    assert browser.read("document.activeElement.id") == "text"
    browser.call("Input.insertText", text=text)
    browser.until("document.getElementById('result').textContent !== ''")
    browser.read("document.getElementById('source').value = 'en'; "
                 "document.getElementById('source').dispatchEvent(new Event('change'))")
    want = expected(ferry, model, text)
    browser.until(f"document.getElementById('result').textContent === {json.dumps(want)}")
    assert browser.read("document.getElementById('count').textContent").startswith(f"{len(text)} of ")
    check_names(browser)
    check_contrasts(browser, "light")
    check_axe(browser, "light")
    browser.picture(pictures / "desktop.png")

    # by keyboard alone: from the text to the copy button, which works
    seen = []
    for _ in range(8):
        browser.key("Tab", 9)
        seen.append(browser.read("document.activeElement.id"))
    assert "result" in seen and "copy" in seen, seen
    browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
    browser.read("document.getElementById('copy').click()")
    browser.until("document.getElementById('status').textContent !== ''")
    assert browser.read("document.getElementById('status').textContent") == "Copied."

    # nothing is left when the text is gone
    browser.read("document.getElementById('text').focus(); document.getElementById('text').select()")
    browser.key("Delete", 46)
    browser.until("document.getElementById('result').textContent === ''")
    browser.call("Input.insertText", text=text)
    browser.until(f"document.getElementById('result').textContent === {json.dumps(want)}")

    check_words(browser, url, text, pictures)
    check_sentences(browser)
    browser.read(f"document.getElementById('text').value = {json.dumps(text)}; soon()")
    browser.until(f"document.getElementById('result').textContent === {json.dumps(want)}")
    browser.point(WORD.format(1))

    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    check_contrasts(browser, "dark")
    check_axe(browser, "dark")
    browser.picture(pictures / "dark.png")
    browser.call("Emulation.setEmulatedMedia", features=[])
    browser.call("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
    wide = browser.read("document.documentElement.scrollWidth")
    assert wide <= 360, f"on a phone the page is {wide} wide"
    tops = browser.read("['target', 'source'].map((id) => [document.querySelector(`label[for=${id}]`), "
                        "document.getElementById(id)].map((e) => { const b = e.getBoundingClientRect(); "
                        "return b.top + b.height / 2; }))")
    assert all(abs(a - b) < 4 for a, b in tops), f"on a phone labels stand on other lines than their lists: {tops}"
    check_axe(browser, "phone")
    browser.picture(pictures / "phone.png")


def use_back(browser, url, *_):
    """A server that gives no alternatives translates as well; and back, where it can."""
    browser.call("Page.enable")
    browser.call("Page.navigate", url=url)
    browser.until("document.readyState === 'complete' && document.getElementById('target').value !== ''")
    browser.call("Input.insertText", text="the river")
    browser.until("document.getElementById('result').textContent !== ''")
    assert browser.read(BUTTONS) == []
    before = browser.read("shown.translation")
    browser.read("document.getElementById('source').value = 'en'; "
                 "document.getElementById('source').dispatchEvent(new Event('change'))")
    browser.point("document.getElementById('swap')", click=True)
    assert browser.read("['source', 'target', 'text'].map((id) => document.getElementById(id).value)") == [
        "de", "en", before]
    browser.until(f"shown.text === {json.dumps(before)} && shown.target === 'en' && shown.translation !== ''")


def main():
    ferry, model, pictures = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    pictures.mkdir(parents=True, exist_ok=True)
    for visit, options in ((use, ()), (use_back, (f"{model}:de-en", "beam=1"))):
        server, url = serve(ferry, model, *options)
        try:
            with tempfile.TemporaryDirectory() as home:
                browser = Browser(home)
                try:
                    visit(browser, url, ferry, model, pictures)
                finally:
                    browser.close()
        finally:
            server.terminate()
            assert server.wait() == 0


if __name__ == "__main__":
    main()
