# docs/compatibility.md: files of a newer version end in a sentence before anything is written, and
# files of an older one, without the fields that came later, are taken up where they stopped.
. "$ROOT/tests/cli/tiny.bash"
tiny_data data
expect 0 "$FERRY" train data=data run=run "${tiny[@]}" max_steps=6 save_every=3
expect 0 "$FERRY" train data=data run=whole "${tiny[@]}" max_steps=9 save_every=3
expect 0 "$FERRY" pack run out=model.ferry
cp -r run kept
cp -r data kept-data
cp model.ferry kept.ferry

bytes_of() { (cd "$1" && find . -type f ! -name .lock ! -name .pulse | sort | xargs sha256sum); }
# resealed FILE PYTHON: change the text s of a run's config.yaml and its checksum with it
cat >edit.py <<'END'
import re, struct, sys

def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF

kind, path, *words = sys.argv[1:]
s = open(path, "rb").read()
if kind == "config": # first line: checksum of the rest
    first, rest = s.split(b"\n", 1)
    rest = re.sub(words[0].encode(), words[1].encode(), rest)
    s = re.sub(rb"checksum [0-9a-f]{8}", b"checksum %08x" % crc32c(rest), first) + b"\n" + rest
elif kind == "pack": # the version, and the head's checksum
    s = s[:8] + struct.pack("<I", int(words[0])) + s[12:60]
    s += struct.pack("<I", crc32c(s)) + open(path, "rb").read()[64:]
elif kind == "corpus":
    s = s[:8] + struct.pack("<I", int(words[0])) + s[12:]
else:
    s = re.sub(words[0].encode(), words[1].encode(), s)
open(path, "wb").write(s)
END
edit() { python3 edit.py "$@"; }
# again: the files as they were
again() { rm -rf run data; cp -r kept run; cp -r kept-data data; cp kept.ferry model.ferry; }
# stays STATUS TEXT COMMAND...: refused, and no byte of the run and the data changed
stays()
{
    bytes_of run >before
    bytes_of data >>before
    refuses "$@"
    { bytes_of run; bytes_of data; } | cmp -s - before || fail "something was written"
}
more=(data=data run=run "${tiny[@]}" max_steps=9 save_every=3)

# ---- a newer config.yaml: by whoever opens the run
head -n 2 run/config.yaml | grep -q '^# version 1, written by ferry ' || fail "config.yaml has no version"
edit config run/config.yaml 'version 1' 'version 2'
newer='written by a newer ferry (version 2 of this file, up to 1 can be read)'
stays 2 "$newer" "$FERRY" train run=run max_steps=9
stays 2 "$newer" "$FERRY" train "${more[@]}"
stays 2 "$newer" "$FERRY" translate run
stays 2 "$newer" "$FERRY" eval run
stays 2 "$newer" "$FERRY" average run out=mean
stays 2 "$newer" "$FERRY" pack run out=other.ferry
stays 2 "$newer" "$FERRY" inspect run
stays 2 "$newer" "$FERRY" train data=data run=other init_from=run max_steps=1 "${tiny[@]}"
# an option that is not known is never skipped when training goes on
again
edit config run/config.yaml 'seed: 1' $'seed: 1\nwarp: 3'
stays 2 "unknown option 'warp'" "$FERRY" train run=run max_steps=9
stays 2 "unknown option 'warp'" "$FERRY" train "${more[@]}"
echo 'the ship' >text
expect 0 "$FERRY" translate run text # which only needs the model

# ---- a newer data directory
again
edit text data/prepare.json '"version": 3' '"version": 4'
newer='prepared by a newer ferry (version 4, up to 3 can be read)'
stays 4 "$newer" "$FERRY" train "${more[@]}"
stays 4 "$newer" "$FERRY" eval run data=data
again
edit corpus data/train.bin 4
stays 4 "by a newer ferry (version 4, up to 3 can be read)" "$FERRY" train "${more[@]}"

# ---- a newer packed model
edit pack model.ferry 2
stays 4 "was written by a newer Ferry: version 2, this one reads 1" "$FERRY" translate model.ferry
stays 4 "was written by a newer Ferry: version 2, this one reads 1" "$FERRY" inspect model.ferry

# ---- a newer state (test_resume looks at the fields)
again
sum() { python3 - "$1" <<'END'
import sys
s = open(sys.argv[1], "rb").read()
n = s.index(b'"checksum"')
block, lanes = s[:n] + bytes(32 - n % 32), [1, 2, 3, 4]
def step(lane, word):
    x = (lane ^ word) * 0xD6E8FEB86659FD93 % 2**64
    return x ^ x >> 32
for i in range(0, len(block), 8):
    lanes[i // 8 % 4] = step(lanes[i // 8 % 4], int.from_bytes(block[i:i + 8], "little"))
value = n
for lane in lanes + [0]:
    value = step(value, lane)
open(sys.argv[1], "wb").write(s[:n] + b'"checksum": "%016x"\n}' % value)
END
}
cp run/model.ckpt-6.state same && sum same
cmp -s same run/model.ckpt-6.state || fail "the test's own checksum is wrong"
edit text run/model.ckpt-6.state '"version": 2' '"version": 3'
sum run/model.ckpt-6.state
stays 2 "written by a newer ferry (version 3 of this file, up to 2 can be read)" "$FERRY" train "${more[@]}"

# ---- older ones: no version, no checksum, no field that came later; the same bytes in the end
again
sed -i -e '/^# /d' -e '/^\(exchange\|verify_data\|replica_check_every\|pin\): /d' run/config.yaml
python3 - <<'END'
import json
for path, names in (("data/prepare.json", ("version", "languages", "overlap", "stages")),
                    ("run/model.ckpt-6.state", ("version", "checksum", "pairs_hash", "ranks", "train_hash",
                                                "micro_tokens", "rest"))):
    all = json.load(open(path))
    for name in names:
        all.pop(name, None)
    json.dump(all, open(path, "w"))
END
expect 0 "$FERRY" train run=run max_steps=9
err_has "resuming run"
err_has "step 7/9"
cmp -s run/model.ckpt-9.data-00000-of-00001 whole/model.ckpt-9.data-00000-of-00001 ||
    fail "an older run went on to other weights"
head -n 2 run/config.yaml | grep -q '^# version 1' || fail "the version is not written when a run goes on"

# A packed model of 0.1.0 opens (test_packed_golden compares what it says).
expect 0 "$FERRY" inspect "$ROOT/tests/data/model.ferry"
out_has 'ferry 0.1.0'
