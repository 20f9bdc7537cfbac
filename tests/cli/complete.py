"""usage: complete.py SHELL FILE BIN

Types into an interactive bash or zsh, presses Tab, and looks at what the shell then passes to a
command. FILE is the completion, BIN the folder of the program.
"""
import os
import pathlib
import pty
import sys

SHELL, FILE, BIN = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]

# What is typed before Tab, and the words of the line after it.
CASES = [
    ("ferry trans", "ferry translate"),
    ("ferry score-", "ferry score-pairs"),
    ("ferry train opti", "ferry train optimizer="),
    ("ferry train optimizer=n", "ferry train optimizer=novograd"),
    ("ferry train --optimizer n", "ferry train --optimizer novograd"),
    ("ferry train --max-st", "ferry train --max-steps"),
    ("ferry train --max_steps=3 verify_data=f", "ferry train --max_steps=3 verify_data=false"),
    ("ferry translate --no-sc", "ferry translate --no-scores"),
    ("ferry translate --scores mod", "ferry translate --scores model.ferry"),
    ("ferry translate forbid=mod", "ferry translate forbid=model.ferry"),
    ("ferry translate --forbid mod", "ferry translate --forbid model.ferry"),
    ("ferry train data=fol", "ferry train data=folder/"),
    ("ferry train sma", "ferry train small"),
    ("ferry bench kern", "ferry bench kernels"),
    ("ferry plan --batch-tok", "ferry plan --batch-tokens"),
    ("ferry launch -n 2 -- tra", "ferry launch -n 2 -- tra"),
    ("ferry launch -n 2 -- train verify", "ferry launch -n 2 -- train verify_data="),
    ("ferry help vers", "ferry help version"),
]
if SHELL == "zsh":  # which has no --no-key, and takes the slash away when the line goes on
    CASES = [(a, b.rstrip("/")) for a, b in CASES if "--no-" not in a]

START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
SETTINGS = {
    "bash": f"bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; source '{FILE}'",
    "zsh": f"unset zle_bracketed_paste; setopt no_beep; fpath=('{FILE.parent}' $fpath);"
           " autoload -U compinit; compinit -D -u",
}
# Prints its words between marks that a terminal's echo never has.
SAY = r'''say() { printf '\2%s\3' "$@"; printf '\4'; }; '''
END = b"\x04"


def start():
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(PATH=BIN + ":" + os.environ["PATH"], TERM="dumb", PS1="", HISTFILE="",
                          COLUMNS="400")
        os.execvp(START[SHELL][0], START[SHELL])
    return pid, fd


def read_until(fd, mark):
    seen = b""
    while mark not in seen:
        chunk = os.read(fd, 65536)
        if not chunk:
            break
        seen += chunk
    return seen.decode(errors="replace")


def words_after(fd, typed):
    """Tab, then the line becomes the arguments of `say`."""
    os.write(fd, (typed + "\t\x01say \x05\n").encode())
    said = read_until(fd, END)
    return " ".join(part.split("\x03")[0] for part in said.split("\x02")[1:])


def main():
    pid, fd = start()
    os.write(fd, (SAY + SETTINGS[SHELL] + "; say\n").encode())
    read_until(fd, END)
    bad = 0
    for typed, want in CASES:
        got = words_after(fd, typed)
        if got != want:
            bad += 1
            print(f"{SHELL}: '{typed}' and Tab give '{got}', want '{want}'")
    os.write(fd, b"exit\n")
    os.close(fd)
    os.waitpid(pid, 0)
    sys.exit(1 if bad else 0)


main()
