#!/usr/bin/env python3
"""usage: run.py FERRY [COUNT [SEED [WORKERS]]]

Damages files of every format that Ferry reads and lets the program read them: COUNT mutations
(5,000) from SEED (1), dealt in turn to the subjects below. Mutation i is a function of (SEED, i) alone:
`run.py FERRY =I SEED` repeats mutation I and keeps its directory.

FERRY should be the sanitizer's build. After each mutation the subject's command must
  - end by itself within a minute, with a status of its own: no signal, no word of a sanitizer;
  - say one sentence that begins with "ferry" where the status is not 0;
  - and, where the file has a checksum, give the numbers and files of the undamaged one or say that
    something was found: a damaged file is never read in silence.
Nothing beside the run directory may change. Ends with a table of what happened, and status 1 where a
mutation did not end so."""
import collections
import concurrent.futures
import gzip
import hashlib
import json
import lzma
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

LIMIT = 60  # seconds
WORDS = dict(en="ship river bank light stone bridge north wind".split(),
             de="Schiff Fluss Ufer Licht Stein Brücke Norden Wind".split())
TINY = """d_model=16 d_ff=24 heads=2 encoder_layers=1 decoder_layers=1 batch_tokens=100 max_length=32
learning_rate=0.5 warmup_steps=8 eval_every=10 eval_bleu=false log_every=1 patience=0 threads=1
pin=false""".split()
DAMAGE = re.compile(rb"AddressSanitizer|LeakSanitizer|UndefinedBehavior|runtime error:|BUG:|Assertion")

# file, command, whether a checksum guards it. {} in a command is the damaged file; every
# command runs in a copy of the base directory, whose data must be named: config.yaml names the base's.
EVAL = "eval run data=data threads=1 checkpoint=last"
RESUME = "train run=run data=data max_steps=36"
FOREIGN = "translate hf threads=1 text.en"
SUBJECTS = [
    ("data/train.bin", "train data=data run=fresh max_steps=3 " + " ".join(TINY), True),
    ("data/train.bin", "inspect {} --verify", True),
    ("data/valid.bin", "eval run data=data set=valid threads=1", True),
    ("data/test.bin", EVAL, True),
    ("data/vocab.model", "train data=data run=fresh max_steps=3 " + " ".join(TINY), False),
    ("data/prepare.json", "train data=data run=fresh max_steps=3 " + " ".join(TINY), False),
    ("run/model.ckpt-30.index", RESUME, True),
    ("run/model.ckpt-30.index", EVAL, True),
    ("run/model.ckpt-30.index", "inspect {} --verify", True),
    ("run/model.ckpt-30.data-00000-of-00001", RESUME, True),
    ("run/model.ckpt-30.data-00000-of-00001", "translate run threads=1 checkpoint=last text.en", True),
    ("run/model.ckpt-30.data-00000-of-00001", "average run out=mean", True),
    ("run/model.ckpt-30.state", RESUME, True),
    ("run/model.ckpt-30.meta", RESUME, False),
    ("run/model.ckpt-30.meta", "inspect {}", False),
    ("run/checkpoint", RESUME, False),
    ("run/checkpoint", EVAL, False),
    ("run/config.yaml", EVAL, True),
    ("run/config.yaml", RESUME, True),
    ("run/vocab.model", "translate run threads=1 text.en", True),
    ("run/vocab.model", "inspect {}", False),
    ("run/run.jsonl", "report run out=page.html", False),
    ("run/run.jsonl", RESUME, False),
    ("run/run.jsonl", "watch run", False),
    ("run/events.out.tfevents.1.host", "inspect {}", False),
    ("run/events.out.tfevents.1.host", "report {} out=page.html", False),
    ("train.tsv", "prepare pairs={} out=made measure=false valid=5 vocab_size=60", False),
    ("train.tsv.gz", "prepare pairs={} out=made measure=false valid=5 vocab_size=60", False),
    ("train.tsv.xz", "prepare pairs={} out=made measure=false valid=5 vocab_size=60", False),
    ("train.tmx", "prepare pairs={} source_lang=en target_lang=de out=made measure=false valid=5 "
                  "vocab_size=60", False),
    ("test.sgm", "prepare source={} target=train.de out=made measure=false vocab_size=60", False),
    ("train.en", "prepare source={} target=train.de out=made measure=false valid=5 vocab_size=60", False),
    ("text.en", "translate run threads=1 {}", False),
    ("text.en", "score {} text.en", False),
    ("options.yaml", "train {} data=data run=fresh max_steps=2", False),
    ("hosts", "launch hostfile={} --dry-run -- train x", False),
    ("plan.yaml", "plan {} nodes=4 vocab_size=8000", False),
    ("console.log", "report {} out=page.html", False),
    ("golden.index", "inspect {}", True),
    ("golden.data-00000-of-00001", "inspect golden.index --verify", True),
    ("run/best_models/checkpoint", "eval run data=data threads=1 checkpoint=best", False),
    ("model.ferry", "translate {} threads=1 text.en", True),
    ("model.ferry", "inspect {} --verify", True),
    ("data/profiles", "pack run data=data out=made.ferry", False),
    ("train.tsv.zst", "prepare pairs={} out=made measure=false valid=5 vocab_size=60", False),
    ("smi.csv", "report {} out=page.html", False),
    ("hf-swish.zip", "translate {} threads=1 text.en", True),
    ("hf/config.json", FOREIGN, False),
    ("hf/vocab.json", FOREIGN, False),
    ("hf/source.spm", FOREIGN, False),
    ("hf/pytorch_model.bin", FOREIGN, False),
    ("swish/model.safetensors", "translate swish threads=1 text.en", False),
    ("marian/model.npz", "translate marian threads=1 text.en", False),
    ("marian/decoder.yml", "translate marian threads=1 text.en", False),
    ("ct2/model.bin", "translate ct2 threads=1 text.en", False),
    ("ct2/shared_vocabulary.json", "translate ct2 threads=1 text.en", False),
]
FOREIGN_MODELS = {"hf": "hf-gelu", "swish": "hf-swish", "marian": "marian-pre", "ct2": "ct2-int8"}


def ferry(program, words, where, limit=LIMIT):
    env = dict(os.environ, HOME=where, TMPDIR=where, LC_ALL="C.UTF-8",
               ASAN_OPTIONS="detect_leaks=1:abort_on_error=0:exitcode=99", UBSAN_OPTIONS="halt_on_error=1")
    return subprocess.run([program, *words], cwd=where, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit, check=False)


def text(language, first, n):
    w = WORDS[language]
    joint = ("the {} and the {} see {} {}" if language == "en" else "{} und {} sehen {} {}").format
    return [joint(w[i % 8], w[i * 5 // 3 % 8], w[i // 8 % 8], i) for i in range(first, first + n)]


def write(path, data):
    with open(path, "wb") as out:
        out.write(data if isinstance(data, bytes) else data.encode())


def make_text(base):
    en, de = text("en", 0, 120), text("de", 0, 120)
    for name, lines in (("train.en", en), ("train.de", de), ("text.en", text("en", 700, 4)),
                        ("test.en", text("en", 600, 6)), ("test.de", text("de", 600, 6)),
                        ("valid.en", text("en", 500, 12)), ("valid.de", text("de", 500, 12))):
        write(f"{base}/{name}", "\n".join(lines) + "\n")
    tsv = "".join(f"{s}\t{t}\n" for s, t in zip(en, de)).encode()
    write(base + "/train.tsv", tsv)
    write(base + "/train.tsv.gz", gzip.compress(tsv, mtime=0))
    write(base + "/train.tsv.xz", lzma.compress(tsv))
    subprocess.run(["zstd", "-q", base + "/train.tsv"], check=True)
    write(base + "/smi.csv", "timestamp, name, utilization.gpu [%], power.draw [W]\n" + "".join(
        f"2026/11/19 12:00:{i:02d}.000, Tesla V100-SXM2-16GB, {90 + i % 9} %, {240 + i}.50 W\n" for i in range(40)))
    write(base + "/train.tmx", "<?xml version='1.0'?><tmx version='1.4'><header srclang='en'/><body>" + "".join(
        f"<tu><tuv xml:lang='en'><seg>{s}</seg></tuv><tuv xml:lang='de'><seg>{t} &amp;</seg></tuv></tu>\n"
        for s, t in zip(en, de)) + "</body></tmx>\n")
    write(base + "/test.sgm", "<srcset setid='x' srclang='any'><doc docid='a'>\n" + "".join(
        f"<seg id='{i + 1}'>{s}</seg>\n" for i, s in enumerate(en)) + "</doc></srcset>\n")
    write(base + "/options.yaml", "".join(f"{k}: {v}\n" for k, v in (o.split("=") for o in TINY)))
    write(base + "/plan.yaml", "d_model: 512\nbatch_tokens: 25000\n")
    write(base + "/hosts", "a slots=2\nb slots=4 # the other\n10.0.0.7\n")


def must(program, words, base):
    done = ferry(program, words, base, 300)
    if done.returncode != 0:
        sys.exit(f"the undamaged files do not work: ferry {' '.join(words)}\n{done.stderr.decode()}")


def make_models(program, base, golden):
    must(program, "pack run data=data out=model.ferry".split(), base)
    shutil.copy(golden + "/hf-swish.zip", base)
    for folder, name in FOREIGN_MODELS.items():
        os.mkdir(f"{base}/{folder}")
        with zipfile.ZipFile(f"{golden}/{name}.zip") as archive:
            for member in archive.infolist():
                write(f"{base}/{folder}/{os.path.basename(member.filename)}", archive.read(member))


def make_base(program, base):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    make_text(base)
    must(program, "prepare source=train.en target=train.de valid_source=valid.en valid_target=valid.de "
         "test_source=test.en test_target=test.de out=data vocab_size=80 measure=false".split(), base)
    os.remove(base + "/data/proposal.yaml")
    must(program, ["train", "data=data", "run=run", "max_steps=30", "save_every=10", "keep_last=3", *TINY], base)
    for name in os.listdir(base + "/run"):
        if name.startswith("events"):
            os.rename(f"{base}/run/{name}", base + "/run/events.out.tfevents.1.host")
    for name in ("golden.index", "golden.data-00000-of-00001"):
        shutil.copy(f"{root}/tests/data/{name}", base)
    make_models(program, base, root + "/tests/data/foreign")
    log = f"{root}/tests/cli/reference_log.py"
    write(base + "/console.log", subprocess.run([sys.executable, log], stdout=subprocess.PIPE, check=True,
                                                env=dict(os.environ, PYTHONIOENCODING="utf-8")).stdout)


def mutate(data, rng):
    """One to four damages of a file's bytes."""
    d = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        n = len(d)
        at = rng.randrange(n) if n else 0
        size = min(n - at, rng.choice((1, 2, 4, 8, 16, 64, 512)))
        kind = rng.randrange(12)
        if kind == 0 and n:
            d[at] ^= 1 << rng.randrange(8)
        elif kind == 1 and n:
            d[at] = rng.randrange(256)
        elif kind == 2:
            del d[at:at + size]
        elif kind == 3:
            d[at:at] = d[at:at + size]
        elif kind == 4:
            del d[at:]
        elif kind == 5:
            d[at:at + size] = bytes(size)
        elif kind == 6:
            d[at:at + size] = b"\xff" * size
        elif kind == 7:
            d[at:at] = rng.randbytes(rng.choice((1, 3, 8, 100)))
        elif kind == 8:  # a number of the file becomes another
            digits = [i for i, c in enumerate(d) if 48 <= c < 58]
            if digits:
                i = rng.choice(digits)
                d[i:i + 1] = rng.choice((b"0", b"9", b"7", b"-1", b"99999999999999999999", b"1e999", b"nan"))
        elif kind == 9:
            to = rng.randrange(n + 1) if n else 0
            part = d[at:at + size]
            d[to:to] = part
        elif kind == 10:
            d += rng.choice((b"\n", b"\0" * 4096, b"\x1b[2J\xe2\x80\xae", bytes(d[:100]), b"}" * 50, b"[" * 5000))
        elif kind == 11:
            word = rng.choice((b"../../canary", b"/etc/passwd", b"%s%n", b"\r\n", b"\xed\xa0\x80", b"\xfe\xff"))
            d[at:at + size] = word
    return bytes(d)


def tree(where, *leave_out):
    """What a command left: name to hash, without what time or place decides."""
    found = {}
    for folder, folders, names in os.walk(where):
        folders[:] = [f for f in folders if os.path.relpath(os.path.join(folder, f), where) not in leave_out]
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith((".data-00000-of-00001", ".index", ".bin")) and os.path.isfile(path):
                with open(path, "rb") as f:
                    found[os.path.relpath(path, where)] = hashlib.sha256(f.read()).hexdigest()
    return found


def numbers(output):
    """The numbers of a command's output that are no times or speeds."""
    lines = [l for l in output.decode(errors="replace").splitlines() if not re.search(r"\bs\)|/s\b|after \d", l)]
    return re.findall(r"-?\d+(?:\.\d+)?", "\n".join(lines))


def observe(program, subject, base, where, data=None):
    """Run a subject's command on a copy; data replaces its file. Returns (result, files, numbers)."""
    path, command, _ = subject
    shutil.copytree(base, where + "/w", symlinks=True)
    w = where + "/w"
    write(where + "/canary", "still here\n")
    if data is not None:
        write(f"{w}/{path}", data)
    done = ferry(program, [x.replace("{}", path) for x in command.split()], w)
    return done, tree(w), numbers(done.stdout)


def judge(subject, plain, done, files, seen):
    """(outcome, complaint or None)"""
    err = done.stderr
    if done.returncode < 0 or done.returncode >= 64 or DAMAGE.search(err):
        return "crash", f"status {done.returncode}: {err[-600:].decode(errors='replace')}"
    if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", err.replace(b"\r", b"")):
        return "raw", f"control characters on the terminal: {err[-300:]!r}"
    if done.returncode != 0:
        sentences = [l for l in err.splitlines() if l.startswith(b"ferry")]
        if not sentences:
            return "mute", f"status {done.returncode} without a sentence: {err[-300:]!r}"
        return "refused", None
    path, _, is_guarded = subject
    changed = {n for n in plain["files"] if n != path and files.get(n) != plain["files"][n]}
    same = seen == plain["numbers"] and not changed
    if same:
        return "no effect", None
    said = set(err.splitlines()) - plain["lines"]
    if is_guarded and not said:
        return "silent", f"other results, nothing said: {sorted(changed)} {seen[:12]} / {plain['numbers'][:12]}"
    return ("said" if said else "taken"), None


def one(program, base, plain, seed, i, keep=False):
    subject = SUBJECTS[i % len(SUBJECTS)]
    rng = random.Random(f"{seed}/{i}")
    with open(f"{base}/{subject[0]}", "rb") as f:
        data = mutate(f.read(), rng)
    where = tempfile.mkdtemp(prefix=f"mutation-{i}-")
    try:
        try:
            done, files, seen = observe(program, subject, base, where, data)
        except subprocess.TimeoutExpired:
            return i, "hang", f"no end within {LIMIT} s"
        if subject[0] == "run/config.yaml" and b"# checksum " not in data:
            subject = (*subject[:2], False)  # as somebody who edits it on purpose leaves it
        outcome, complaint = judge(subject, plain[i % len(SUBJECTS)], done, files, seen)
        with open(where + "/canary", encoding="utf-8") as f:
            if f.read() != "still here\n" or sorted(os.listdir(where)) != ["canary", "w"]:
                return i, "outside", "something beside the directory changed"
        return i, outcome, complaint
    finally:
        if keep:
            print("kept:", where)
        else:
            shutil.rmtree(where, ignore_errors=True)


def undamaged(program, base):
    plain = []
    for subject in SUBJECTS:
        where = tempfile.mkdtemp(prefix="mutation-plain-")
        done, files, seen = observe(program, subject, base, where)
        if done.returncode != 0:
            sys.exit(f"the undamaged file does not work: {subject}\n{done.stderr.decode()}")
        plain.append(dict(files=files, numbers=seen, lines=set(done.stderr.splitlines())))
        shutil.rmtree(where)
    return plain


def table(counts):
    kinds = sorted({k for c in counts.values() for k in c})
    print("| file | " + " | ".join(kinds) + " |\n|---|" + "--:|" * len(kinds))
    total = collections.Counter()
    for path, c in sorted(counts.items()):
        print(f"| `{path}` | " + " | ".join(str(c[k] or "") for k in kinds) + " |")
        total += c
    print("| all | " + " | ".join(str(total[k]) for k in kinds) + " |")


def main():
    program = os.path.abspath(sys.argv[1])
    count = sys.argv[2] if len(sys.argv) > 2 else "5000"
    seed = sys.argv[3] if len(sys.argv) > 3 else "1"
    workers = int(sys.argv[4]) if len(sys.argv) > 4 else 2
    counts, complaints = collections.defaultdict(collections.Counter), []
    with tempfile.TemporaryDirectory(prefix="mutations-") as base:
        make_base(program, base)
        plain = undamaged(program, base)
        which = [int(count[1:])] if count.startswith("=") else range(int(count))
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            jobs = [pool.submit(one, program, base, plain, seed, i, count.startswith("=")) for i in which]
            for n, job in enumerate(concurrent.futures.as_completed(jobs), 1):
                i, outcome, complaint = job.result()
                path, command, _ = SUBJECTS[i % len(SUBJECTS)]
                counts[path][outcome] += 1
                if complaint:
                    complaints.append(i)
                    print(f"mutation {i} of seed {seed}: {path}: ferry {command}\n  {outcome}: {complaint}", flush=True)
                if n % 250 == 0:
                    print(f"{n} of {len(jobs)}", file=sys.stderr, flush=True)
    table(counts)
    print(json.dumps(dict(seed=seed, mutations=len(jobs), complaints=sorted(complaints))))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
