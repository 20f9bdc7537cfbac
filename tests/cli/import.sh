# Models of other programs: translated where they lie, imported into one file, looked into; what
# would do harm, or is none, is one sentence.
models=$ROOT/tests/data/foreign
printf 'a small ferry crosses the river\nthe captain waits at 7\n' >text

refuses 2 'which model?' "$FERRY" import
refuses 2 'out is not set' "$FERRY" import "$models/hf-swish.zip"
refuses 2 'no model of Hugging Face' "$FERRY" import text out=x.ferry
refuses 2 'no model of Hugging Face' "$FERRY" import none out=x.ferry
refuses 2 'run on processors' "$FERRY" translate "$models/hf-swish.zip" text device=opencl

# the archive, its directory, its weights and the imported file say the same
for name in hf-swish hf-gelu marian-pre ct2-int8; do
    mkdir "$name"
    python3 -m zipfile -e "$models/$name.zip" "$name"
    [ -d "$name/folder" ] && mv "$name/folder"/* "$name" && rmdir "$name/folder"
    expect 0 "$FERRY" translate "$name" text
    cp .out said
    expect 0 "$FERRY" translate "$models/$name.zip" text
    cmp .out said
    expect 0 "$FERRY" import "$models/$name.zip" out=$name.ferry precision=fp32
    out_has "$name.ferry"
    expect 0 "$FERRY" translate $name.ferry text
    cmp .out said
    expect 0 "$FERRY" import "$name" out=small.ferry source_lang=en target_lang=de
    expect 0 "$FERRY" translate small.ferry text
done
expect 0 "$FERRY" translate marian-pre/model.npz text
cp .out there
expect 0 "$FERRY" translate marian-pre text
cmp .out there

# a server and a program with the library in it take them as they lie
for model in hf-swish "$models/marian-post.zip" marian-pre ct2-int8; do
    expect 0 "$FERRY" translate "$model" text
    cp .out said
    expect 0 python3 "$ROOT/tests/cli/serve_foreign.py" "$FERRY" "$model" text said
    library=$(dirname "$FERRY")/libferry.so.0
    [ -e "$library" ] || continue # of a build without it
    FERRY_LIBRARY=$library PYTHONPATH=$ROOT/python expect 0 python3 -c '
import ferry, sys
with ferry.Model(sys.argv[1]) as model:
    for line in open("text"):
        print(model.translate(line.rstrip("\n")).text)' "$model"
    cmp .out said
done

refuses 2 'ferry import makes one file of it' "$FERRY" pack hf-swish out=x.ferry

# what is inside
expect 0 "$FERRY" inspect hf-swish
out_has 'Hugging Face MarianMT'
out_has 'model.decoder.layers.0.encoder_attn.k_proj.bias'
expect 0 "$FERRY" inspect "$models/marian-gelu.zip" --no-tensors --json
out_has '"kind":"Marian"'
out_has '"activation":"gelu"'
out_has '"format":"NumPy .npz"'
for file in hf-swish/model.safetensors hf-gelu/pytorch_model.bin ct2-int8/model.bin; do
    expect 0 "$FERRY" inspect $file
    out_has 'tensors of the file'
done
out_has decoder/layer_0/ffn/linear_0/weight_scale
expect 0 "$FERRY" inspect small.ferry
out_has 'CTranslate2'

# a mark that is a token of the model stands before the text, and for every sentence of it
python3 - <<'EOF'
import json
words = json.load(open("hf-swish/vocab.json"))
free = next(w for w in words if words[w] > 50 and len(w) > 2)
words[">>deu<<"] = words.pop(free)
json.dump(words, open("hf-swish/vocab.json", "w"))
EOF
printf 'a boat waits. the river is wide.\n>>deu<< a boat waits. the river is wide.\n>>xyz<< a boat\n' >marked
expect 0 "$FERRY" translate hf-swish marked --scores
[ "$(wc -l <.out)" -eq 3 ] || fail "want three lines"
[ "$(sed -n 1p .out)" != "$(sed -n 2p .out)" ] || fail "the mark changes nothing"
printf 'a boat waits.\tein Boot\n>>deu<< a boat waits.\tein Boot\n>>deu<<a boat waits.\tein Boot\n' >pairs
expect 0 "$FERRY" score-pairs hf-swish pairs
[ "$(sort -u .out | wc -l)" -eq 2 ] || fail "a mark is a token with or without a blank behind it"

# safetensors with our names, of a map
refuses 2 'no config.json of a FerryTransformer' "$FERRY" import hf-swish/model.safetensors out=x.ferry
refuses 2 'no config.json of a FerryTransformer' "$FERRY" import hf-swish out=x.ferry map=text

expect 0 "$FERRY" export "$models/marian-post.zip" to=safetensors out=own
expect 0 "$FERRY" translate own text
cp .out said
mv own/model.safetensors own/other.safetensors
q=ForwardPass/transformer_encoder/layer_0/self_attention/self_attention/q/kernel
sed -i "s|$q|theirs${q:6}|" own/other.safetensors
echo "$q: theirs${q:6}" >names
expect 0 "$FERRY" import own/other.safetensors map=names out=own.ferry precision=fp32
expect 0 "$FERRY" translate own.ferry text
cmp .out said

# what would do harm
python3 - <<'EOF'
import json, os, pickle, shutil, struct, zipfile


class Harm:
    def __reduce__(self):
        return os.system, ("touch harmed",)


def archive(path, **members):
    with zipfile.ZipFile(path, "w") as z:
        for name, data in members.items():
            z.writestr("archive/" + name.replace("__", "/"), data)


def model(name, weights=None, **changed):
    shutil.copytree("hf-swish", name)
    os.remove(name + "/model.safetensors")
    for key, value in changed.items():
        with open(f"{name}/config.json") as f:
            config = json.load(f)
        config[key] = value
        with open(f"{name}/config.json", "w") as f:
            json.dump(config, f)
    return f"{name}/" + (weights or "model.safetensors")


archive(model("program", "pytorch_model.bin"), **{"data.pkl": pickle.dumps({"w": Harm()}, 2), "version": b"3"})
with open(model("old", "pytorch_model.bin"), "wb") as f:
    f.write(pickle.dumps({"w": 1}, 2))
shutil.copy("hf-swish/model.safetensors", model("wide", d_model=1 << 19))
shutil.copy("hf-swish/model.safetensors", model("deep", encoder_layers=1 << 20))
shutil.copy("hf-swish/model.safetensors", model("heads", encoder_attention_heads=3, decoder_attention_heads=3))
with open("hf-swish/model.safetensors", "rb") as f:
    whole = f.read()
n = struct.unpack("<Q", whole[:8])[0]
at = json.loads(whole[8:8 + n])["model.encoder.layers.0.fc1.weight"]["data_offsets"][0] + 8 + n
with open(model("nan"), "wb") as f:
    f.write(whole[:at] + struct.pack("<f", float("nan")) + whole[at + 4:])
with open(model("cut"), "wb") as f:
    f.write(whole[:-4])
with open(model("endless"), "wb") as f:
    f.write(b"\xff" * 7 + b"\x7f" + whole[8:])
with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("config.json", b" " * (1 << 26))
with zipfile.ZipFile("path.zip", "w") as z:
    z.writestr("../../config.json", b"{}")
with open("ct2-int8/model.bin", "rb") as f:
    whole = f.read()
at = whole.index(b"encoder/layer_0/ffn/linear_0/weight_scale\0") + 42
at += 1 + 4 * whole[at] + 1 + 4
for name, number in (("zero", 0.0), ("inf", float("inf")), ("nothing", float("nan"))):
    shutil.copytree("ct2-int8", "ct2-" + name)
    with open(f"ct2-{name}/model.bin", "wb") as f:
        f.write(whole[:at] + struct.pack("<f", number) + whole[at + 4:])
EOF
for what in "program:posix.system" "old:before 1.6" "wide:d_model = 524288" "deep:encoder_layers" \
    "heads:not a multiple of heads" "nan:fc1.weight holds something that is no number" "cut:cut short" \
    "endless:no safetensors file" "bomb.zip:more than 100 times" "path.zip:no path inside" \
    "ct2-zero:scale" "ct2-inf:scale" "ct2-nothing:scale"; do
    refuses 4 "${what#*:}" limited 2000000 "$FERRY" translate "${what%%:*}" text
done
[ ! -e harmed ] || fail "a pickle was run"
refuses 4 'posix.system' "$FERRY" inspect program/pytorch_model.bin
refuses 4 'posix.system' "$FERRY" inspect program
