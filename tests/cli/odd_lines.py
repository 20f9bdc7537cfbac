"""Odd and hostile lines for a translator, and a judge of what it made of them.

    odd_lines.py make N SEED      N lines on standard output, the same for the same seed
    odd_lines.py judge IN OUT     exit status 1 and a sentence for each broken promise
"""
import random
import sys

WORDS = "the ferry crosses a wide river and we wait for light wind near stone bridge 7 boats".split()
SCRIPTS = ["Привет, как дела? Хорошо.", "今日は。元気ですか？はい！", "Καλημέρα σας; Ναι.", "مرحبا بالعالم؟", "नमस्ते। कैसे हो?",
           "안녕하세요. 반갑습니다!", "שלום עולם.", "สวัสดีครับ", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ℵ∑∞", "e\u0301a\u0308\u200d\u200b\u00ad"]
EMOJI = "😀 👍🏽 👩‍👩‍👧‍👦 🇩🇪 ❤️ 🏳️‍🌈 ☃".split()


def words(rng, n):
    return " ".join(rng.choice(WORDS) for _ in range(n))


def sentences(rng):
    return "".join(words(rng, rng.randint(1, 9)).capitalize() + rng.choice(".!?…;") + rng.choice([" ", "  ", "\t", "\u00a0"])
                   for _ in range(rng.randint(2, 12)))


KINDS = [
    lambda r: "",
    lambda r: r.choice([" ", "\t", "   ", "\u3000", "\u00a0\u2028"]),
    lambda r: r.choice(WORDS),
    lambda r: words(r, r.randint(1, 30)),
    lambda r: words(r, r.randint(1, 12)).upper(),
    lambda r: str(r.randrange(10 ** r.randint(1, 40))),
    lambda r: "1234567890" * r.randint(1, 30),
    lambda r: f"<p class=\"a\">{words(r, 4)}</p><br/>&nbsp;&lt;{words(r, 1)}&gt;<!-- {words(r, 2)} -->",
    lambda r: " ".join(r.choice(EMOJI) for _ in range(r.randint(1, 20))),
    lambda r: "https://" + words(r, 6).replace(" ", "/") + "?q=%20" + "x" * r.randint(0, 80),
    lambda r: " ".join(r.choice(SCRIPTS) for _ in range(r.randint(1, 4))),
    lambda r: r.choice("!?.,;:-_~*#@%$|\\/()[]{}<>\"'`^=+") * r.randint(1, 60),
    lambda r: (r.choice(WORDS) + " ") * r.randint(2, 60),
    lambda r: sentences(r),
    lambda r: "x" * r.randint(1, 700),
    lambda r: "".join(chr(r.choice([r.randrange(0x20, 0x7F), r.randrange(0xA0, 0x500), r.randrange(0x4E00, 0x9FFF)]))
                      for _ in range(r.randint(1, 40))),
    lambda r: "".join(chr(r.randrange(1, 32)) for _ in range(r.randint(1, 9))).replace("\n", ""),
    lambda r: bytes(r.randrange(256) for _ in range(r.randint(1, 60))).replace(b"\n", b"\xff"),
    lambda r: words(r, 3).encode() + b"\xc3" + words(r, 3).encode() + b"\xf0\x9f\x98",
    lambda r: bytes([r.choice([0x00, 0xFE, 0xFF, 0x80])] * r.randint(1, 5)),
]


def make(n, seed):
    rng = random.Random(seed)
    out = sys.stdout.buffer
    for i in range(n):
        line = words(rng, 2000) if i % 1000 == 500 else KINDS[i % len(KINDS)](rng)
        out.write((line if isinstance(line, bytes) else line.encode()) + b"\n")


def lines(path):
    with open(path, "rb") as f:
        text = f.read()
    return [line.removesuffix(b"\r") for line in text.split(b"\n")[:-1]]


def has_text(line):
    return bool("".join(line.decode("utf-8", "replace").split()))


def judge(source, target):
    source, target = lines(source), lines(target)
    wrong = []
    if len(source) != len(target):
        wrong.append(f"{len(source)} lines in, {len(target)} lines out")
    for i, (s, t) in enumerate(zip(source, target), 1):
        if has_text(s) != has_text(t):
            wrong.append(f"line {i}: {s[:60]!r} became {t[:60]!r}")
        try:
            t.decode()
        except UnicodeDecodeError:
            wrong.append(f"line {i}: the translation is not UTF-8")
    return wrong


if sys.argv[1] == "make":
    make(int(sys.argv[2]), int(sys.argv[3]))
else:
    found = judge(*sys.argv[2:4])
    print("\n".join(found[:10]))
    sys.exit(bool(found))
