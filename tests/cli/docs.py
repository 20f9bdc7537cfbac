"""usage: docs.py ROOT FERRY

The pages tell the truth about what a program can look up: links lead somewhere, the exit
statuses are those of `ferry help`, the options of docs/coming-from.md exist, and the
containers have the packages of docs/launch.md; every command and option that a page
shows in a call of ferry exists, and every file that it names; and rooms include what
docs/ARCHITECTURE.md says.
"""
import pathlib
import re
import subprocess
import sys

ROOT, FERRY = pathlib.Path(sys.argv[1]), sys.argv[2]
bad = []


def run(*words):
    return subprocess.run([FERRY, *words], capture_output=True, text=True, check=True).stdout


def anchors(text):
    """GitHub's names of the headings."""
    for line in re.sub(r"(?ms)^```.*?^```", "", text).splitlines():
        heading = re.match(r"#+ (.*)", line)
        if heading:
            name = re.sub(r"\]\([^)]*\)", "", heading[1]).lower()
            yield re.sub(r"[^\w\- ]", "", name).replace(" ", "-")


def check_links(path):
    text = re.sub(r"`[^`\n]*`", "", path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists():
            bad.append(f"{path.relative_to(ROOT)}: no {target}")
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            bad.append(f"{path.relative_to(ROOT)}: no heading for {target}")


def check_statuses():
    wanted = re.findall(r"(?m)^  (\d+) +(.*)$", run("help").split("exit status", 1)[1])
    page = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    found = re.findall(r"(?m)^\| (\d+) \| ([^|]*) \| [^|]+ \|$", page)
    if not wanted or wanted != found:
        bad.append(f"docs/troubleshooting.md: statuses are {found}, want {wanted}")


COMMANDS = re.findall(r"(?m)^  ([a-z-]+) ", run("help").split("\nferry", 1)[0])


def options_of(command, known={}):
    if command not in known:
        known[command] = set(re.findall(r"(?m)^  ([a-z]\w*)  ", run("help", command)))
    return known[command]


def check_cell(where, cell, command):
    n = 0
    for code in re.findall(r"`([^`]*)`", cell):
        named = re.match(r"ferry (\w+)", code)
        for key in re.findall(r"(?:^| )(\w+)=", code):
            n += 1
            if key not in options_of(named[1] if named else command):
                bad.append(f"{where}: {key} is no option of ferry {named[1] if named else command}")
    return n


def check_migration():
    path, command, n = ROOT / "docs/coming-from.md", None, 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        cells = line.strip("|").split("|")
        if not line.startswith("|"):
            command = None
        elif command is None:
            command = re.search(r"`ferry (\w+)`", cells[-1])[1]
        else:
            n += check_cell(f"docs/coming-from.md:{number}", cells[-1], command)
    if n < 100:
        bad.append(f"docs/coming-from.md: only {n} options were found to check")


def check_call(where, command, words):
    """One call: `words` are what follows the command; after "--" come those of another."""
    if command not in COMMANDS:
        bad.append(f"{where}: there is no ferry {command}")
        return
    words, dashes, inner = words.partition(" -- ")
    if dashes and inner.split()[0] in COMMANDS:
        check_call(where, inner.split()[0], inner.partition(" ")[2])
    for key in re.findall(r"(?:^|\s)(?:--)?([a-z][\w-]*)=|\s--(?:no-)?([a-z][\w-]+)", " " + words):
        name = (key[0] or key[1]).replace("-", "_")
        if name != "help" and name not in options_of(command):
            bad.append(f"{where}: {name} is no option of ferry {command}")


def check_calls(path):
    """What begins with `ferry` in a block or in a piece of code, up to a comment or a pipe."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        block = re.match(r"(?:    |\$ )+(ferry .*)", line) or re.match(r"(ferry .*)", line)
        for code in [block[1]] if block else re.findall(r"`(ferry [^`]*)`", line):
            code = re.sub(r"\"[^\"]*\"|'[^']*'", "X", code)
            call = re.match(r"ferry ([a-z]+(?:-[a-z]+)?)\b([^#|<>&;()]*)", code)
            if call:
                check_call(f"{path.relative_to(ROOT)}:{number}", call[1], call[2])


def check_packages():
    page = (ROOT / "docs/launch.md").read_text(encoding="utf-8")
    wanted = re.search(r"\| Debian 12 \| `([^`]*)`", page)[1].split()
    for name in "packaging/Dockerfile", "packaging/ferry.def":
        words = (ROOT / name).read_text(encoding="utf-8").split()
        for package in wanted:
            if package not in words and package != "openssh-server":  # the host's
                bad.append(f"{name}: lacks {package} of docs/launch.md")


FOLDERS = {p.name for folder in (ROOT, ROOT / "src") for p in folder.iterdir() if p.is_dir()} - {"build"}


def check_files(path):
    """Files of the tree: below it or below src. What is in capitals stands for a name."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for name in re.findall(r"`((?:\w+/)+[\w.-]+\.(?:c|h|cc|py|sh|bash|md|json|yaml|cmake))`", line):
            known = name.split("/")[0] in FOLDERS and not re.search(r"[A-Z]{4}", name)
            if known and not any((ROOT / top / name).exists() for top in ("", "src", "tests")):
                bad.append(f"{path.relative_to(ROOT)}:{number}: no {name}")


def check_rooms():
    """The table's last column is what a room's files include, but for base and itself."""
    page = (ROOT / "docs/ARCHITECTURE.md").read_text(encoding="utf-8")
    table = {room: set(cell.replace(",", " ").split())
             for room, cell in re.findall(r"(?m)^\| \d \| `(\w+)` \|.*\|([^|]*)\|$", page)}
    rooms = {p.name for p in (ROOT / "src").iterdir() if p.is_dir()}
    if set(table) != rooms:
        bad.append(f"docs/ARCHITECTURE.md: rooms {sorted(set(table) ^ rooms)}")
    for room in rooms & set(table):
        text = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "src" / room).rglob("*.[ch]*"))
        includes = set(re.findall(r'(?m)^\s*#\s*include "(\w+)/', text)) & rooms - {room, "base"}
        if includes != table[room]:
            bad.append(f"docs/ARCHITECTURE.md: {room} includes {', '.join(sorted(includes))}")
    drawn = re.search(r"(?ms)^    7  cli.*?^    0  base", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))[0]
    if set(re.findall(r"[a-z]+", drawn)) != rooms:
        bad.append(f"CONTRIBUTING.md: rooms {sorted(set(re.findall(r'[a-z]+', drawn)) ^ rooms)}")


for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]:
    check_links(page)
    check_calls(page)
    check_files(page)
check_rooms()
check_statuses()
check_migration()
check_packages()
print("\n".join(bad))
sys.exit(len(bad) > 0)
