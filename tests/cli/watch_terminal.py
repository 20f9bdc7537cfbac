"""usage: watch_terminal.py FERRY RUN: `ferry watch` in a terminal of 80 x 24, ended in each of
three ways and disturbed while it writes; it must leave by the door it came in."""
import array
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

ferry, run = sys.argv[1:]


def watch(end):
    pid, fd = pty.fork()
    if pid == 0:
        os.execve(ferry, [ferry, "watch", run, "every=0.2"],
                  dict(os.environ, LC_ALL="C.UTF-8", TERM="xterm"))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    before = termios.tcgetattr(fd)[3]
    seen, deadline, is_asked = b"", time.time() + 60, False
    while time.time() < deadline:
        ready, _, _ = select.select([fd], [], [], 0.1)
        if ready:
            try:
                data = os.read(fd, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data
        if not is_asked and seen.count(b"training loss") >= 3:
            is_asked = True
            end(pid, fd)
    else:
        os.kill(pid, signal.SIGKILL)
        sys.exit("it did not end")
    _, status = os.waitpid(pid, 0)
    return seen, os.waitstatus_to_exitcode(status), before


def check(name, end):
    seen, status, _ = watch(end)
    if status != 0:
        sys.exit(f"{name}: status {status}")
    if b"\x1b[?1049h\x1b[?25l" not in seen or not seen.rstrip().endswith(b"\x1b[?25h\x1b[?1049l"):
        sys.exit(f"{name}: the screen was not given back: {seen[-80:]!r}")
    frames = seen.split(b"\x1b[H")[2:-1]
    for frame in frames:
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", frame.decode()).replace("\r", "").split("\n")
        if len(text) > 24 or max(map(len, text)) > 80:
            sys.exit(f"{name}: a frame of {len(text)} lines, {max(map(len, text))} wide")
    if not frames:
        sys.exit(f"{name}: no whole frame")


def waiting(fd):
    n = array.array("i", [0])
    fcntl.ioctl(fd, termios.FIONREAD, n)
    return n[0]


def disturb(pid, fd):
    """Signals while a frame waits in write() for a reader: no byte of it may be lost."""
    before, deadline = -1, time.time() + 20
    while waiting(fd) != before and time.time() < deadline:
        before = waiting(fd)
        time.sleep(1)
    for _ in range(5):
        os.kill(pid, signal.SIGWINCH)
        time.sleep(0.05)
    os.kill(pid, signal.SIGTERM)


check("q", lambda pid, fd: os.write(fd, b"q"))
check("Ctrl-C", lambda pid, fd: os.write(fd, b"\x03"))
check("SIGTERM", lambda pid, fd: os.kill(pid, signal.SIGTERM))
check("signals while it writes", disturb)
