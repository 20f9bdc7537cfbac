#!/usr/bin/env python3
"""usage: nobody.py WORK PORT <TOKEN

What another user of the machine can try against a running job in WORK, whose control channel is on
PORT, and at the port of its leader, which has to be found. The caller tells the token, so that it can be looked for. Ends with status 1
and a sentence where something gave way."""
import fcntl
import glob
import os
import socket
import sys

FLOOD = 200  # connections at once: more than the server has places for strangers
ROUNDS = 5


def readable(path):
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except OSError:
        return None


def look_for(token, work):
    places = glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ")
    for folder, _, names in os.walk(work):
        places += [os.path.join(folder, name) for name in names]
    return [p for p in places if token in (readable(p) or b"")]


def is_open(path):
    try:
        os.close(os.open(path, os.O_RDONLY))
        return True
    except OSError:
        return False


def connect(port):
    s = socket.socket()
    s.settimeout(0.5)
    try:
        s.connect(("127.0.0.1", port))
        return s
    except OSError:
        s.close()
        return None


def greeting(s):
    try:
        return s.recv(256)
    except OSError:
        return b""


def channels():
    """Ports of the loopback where a control channel greets."""
    found = []
    for line in open("/proc/net/tcp").readlines()[1:]:
        (address, port), state = line.split()[1].split(":"), line.split()[3]
        if address != "0100007F" or state != "0A":  # 127.0.0.1, listening
            continue
        s = connect(int(port, 16))
        if s and greeting(s).startswith(b"FryH"):
            found.append(int(port, 16))
        if s:
            s.close()
    return found


def harass(port):
    """Half-open connections, garbage, our own greeting sent back, and a flood of them."""
    crowd = [s for s in (connect(port) for _ in range(FLOOD)) if s]
    for i, s in enumerate(crowd):
        try:
            if i % 3 == 0:
                s.sendall(os.urandom(512))
            elif i % 3 == 1:
                s.sendall(greeting(s) * 4)
        except OSError:
            pass
    for s in crowd:
        s.close()
    return len(crowd)


def can_hold(path):
    """Whether the lock of the run can be taken, and so kept from its owner."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    except OSError:
        return True  # it was held, and could be waited for
    finally:
        os.close(fd)


def main():
    work, port, token = sys.argv[1], int(sys.argv[2]), sys.stdin.buffer.read().strip()
    bad = [f"{p} shows the token" for p in look_for(token, work)]
    bad += [f"{p} can be read" for p in glob.glob(work + "/home/.ferry/*") if is_open(p)]
    bad += [f"{p} can be opened" for p in glob.glob("/dev/shm/*ferry*") if is_open(p)]
    if can_hold(work + "/run/.lock"):
        bad.append("the lock of the run can be taken")
    found = channels()
    if port not in found or len(found) < 2:
        bad.append(f"launcher and leader did not both greet, but ports {found}: not all was tried")
    for each in found:
        tried = sum(harass(each) for _ in range(ROUNDS))
        print(f"{tried} connections to the control channel at port {each}")
        if tried < FLOOD:
            bad.append(f"only {tried} connections to port {each}: the job ended too early")
    for sentence in bad:
        print("nobody:", sentence, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
