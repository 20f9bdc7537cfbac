#!/usr/bin/env python3
"""A log of a long run, for timing `ferry report`, `watch` and `compare`.

    bench/long_log.py run.jsonl bytes=1e9                  of Ferry, 1 GB
    bench/long_log.py run.jsonl steps=5e6 ranks=0          5 million step entries
    bench/long_log.py run.jsonl bytes=1e8 eval=1           an evaluation every entry (10 steps)
    bench/long_log.py LOG kind=console bytes=1e9           as OpenSeq2Seq prints
    bench/long_log.py DIR/events.out.tfevents.1 kind=events bytes=1e9
    bench/long_log.py LOG.csv kind=smi bytes=1e9           a capture of nvidia-smi

ranks=N adds a ranks entry of N ranks to every step entry (default 1), eval=N evaluates
every N entries (default 100; 0: never), save=N saves every N (default 100; 0: never).
"""
import math
import os
import struct
import sys


def options(words):
    o = {"kind": "ferry", "bytes": "1e18", "steps": "1e18", "ranks": "1", "eval": "100",
         "save": "100"}
    o.update(word.split("=", 1) for word in words)
    return o["kind"], {k: int(float(v)) for k, v in o.items() if k != "kind"}


def noise(i, j):
    """Within 0..1, the same everywhere."""
    return ((i * 7 + j * 13) * 2654435761 % 2**32) / 2**32


def loss(step):
    return 1.5 + 8 / math.sqrt(1 + step / 50)


def ferry(o):
    yield ('{"event":"start","t":1700000000.0,"step":0,"version":"0.1.0","resumed":false,'
           '"host":"a","device":"cpu","threads":1,"processors":2,"ranks":%d,"nodes":1,'
           '"parameters":1179136,"config":{"max_steps":%d,"log_every":10},'
           '"roof_gflops":100.0}\n' % (max(1, o["ranks"]), 10**10))
    for i in range(1, o["steps"] + 1):
        step, t = 10 * i, 1.7e9 + i
        v = loss(step) * (1 + 0.05 * (noise(i, 0) - 0.5))
        part = [0.01 * noise(i, 1), 0.8 * (1 + 0.1 * noise(i, 2)), 0.05 * noise(i, 3)]
        times = ('"t_step":%.17g,"t_data":%.17g,"t_compute":%.17g,"t_comm":%.17g,'
                 '"t_hidden":0.0,"t_update":0.01' % (sum(part) + 0.02, *part))
        yield ('{"event":"step","t":%.7f,"step":%d,"epoch":0,"loss":%.17g,"rate":1e-4,'
               '"grad_norm":%.17g,"source_tokens":2201,"target_tokens":2019,'
               '"sentences":157,"steps":10,%s,"tokens_per_s":8208.1,"gflops":154.0,'
               '"memory_mib":484,"skipped":0}\n'
               % (t, step, v, 1 + noise(i, 4), times))
        if o["ranks"]:
            yield ('{"event":"ranks","t":%.7f,"step":%d,"slowest":0,"ranks":[' % (t, step)
                   + ",".join('{"rank":%d,"host":"a",%s,"cores":1.9,"memory_mib":484.3,'
                              '"sent_bytes":0,"received_bytes":0,"cards":{"eth0":{"sent":0,'
                              '"received":0,"errors":0}}}' % (k, times)
                              for k in range(o["ranks"])) + "]}\n")
        if o["eval"] and i % o["eval"] == 0:
            yield ('{"event":"eval","t":%.7f,"step":%d,"valid_loss":%.17g,"eval_loss":null,'
                   '"forced_bleu":0.3,"bleu":%.17g,"bleu_signature":"nrefs:1","seconds":0.01}\n'
                   '{"event":"sample","t":%.7f,"step":%d,"source":"Hallo!","reference":'
                   '"Hello!","translation":"Hello."}\n'
                   % (t, step, 0.1 + loss(step) * (1 + 0.01 * noise(i, 5)),
                      30 - 5 * loss(step) + noise(i, 6), t, step))
        if o["save"] and i % o["save"] == 0:
            yield ('{"event":"save","t":%.7f,"step":%d,"path":"model.ckpt-%d",'
                   '"bytes":4000000,"seconds":0.1,"total_seconds":0.2}\n' % (t, step, step))


def console(o):
    yield "*** Starting training from scratch\n*** Training config:\n"
    yield "{'batch_size_per_gpu': 128,\n 'max_steps': 10000000000,\n 'print_loss_steps': 10}\n"
    for i in range(1, o["steps"] + 1):
        step = 10 * i
        yield ("*** Global step %d:     Train loss: %.4f\n"
               "time per step = 0:00:00.%06d\n" % (step, loss(step), 800000 + i % 1000))
        if o["eval"] and i % o["eval"] == 0:
            yield ("*** Running evaluation on a validation set:\n"
                   "*** Validation loss: %.4f \n" % (0.1 + loss(step)))


def crc32c_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


TABLE = crc32c_table()


def masked(data):
    c = 0xFFFFFFFF
    for b in data:
        c = TABLE[(c ^ b) & 255] ^ c >> 8
    c ^= 0xFFFFFFFF
    return struct.pack("<I", ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def point(t, step, tag, v):
    value = b"\x0a" + varint(len(tag)) + tag + b"\x15" + struct.pack("<f", v)
    summary = b"\x0a" + varint(len(value)) + value
    event = (b"\x09" + struct.pack("<d", t) + b"\x10" + varint(step) + b"\x2a"
             + varint(len(summary)) + summary)
    head = struct.pack("<Q", len(event))
    return head + masked(head) + event + masked(event)


def events(o):
    for i in range(1, o["steps"] + 1):
        step = 10 * i
        yield point(1.7e9 + i, step, b"train_loss", loss(step))
        if o["eval"] and i % o["eval"] == 0:
            yield point(1.7e9 + i, step, b"eval_loss", 0.1 + loss(step))


def smi(o):
    yield "timestamp, index, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W]\n"
    for i in range(o["steps"]):
        at = "2026/01/%02d %02d:%02d:%02d.%03d" % (
            1 + i // 864000 % 28, i // 36000 % 24, i // 600 % 60, i // 10 % 60, i % 10 * 100)
        yield "%s, 0, NVIDIA A10, %d %%, 8000 MiB, 24000 MiB, %.2f W\n" % (
            at, 80 + i % 20, 100 + i % 50)


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    kind, o = options(sys.argv[2:])
    n = 0
    with open(sys.argv[1], "wb", buffering=1 << 20) as out:
        for text in {"ferry": ferry, "console": console, "events": events, "smi": smi}[kind](o):
            data = text if isinstance(text, bytes) else text.encode()
            n += len(data)
            out.write(data)
            if n >= o["bytes"]:
                break
    print(sys.argv[1], n, "bytes")


if __name__ == "__main__":
    main()
