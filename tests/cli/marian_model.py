"""A small MarianMT model of random numbers, as Hugging Face stores them, in the directory argv[1];
its tokenizers are argv[2] of sources and argv[3] of targets (.vocab and .model of prepare)."""
import json, pathlib, random, shutil, struct, sys

out, D, F, LAYERS = pathlib.Path(sys.argv[1]), 16, 24, 2
rng = random.Random(7)


def words(prefix):
    """Pieces by numbers of their own: </s> and <unk> first, <pad> last, as OPUS-MT has them."""
    pieces = [line.split("\t")[0] for line in pathlib.Path(prefix + ".vocab").read_text().splitlines()]
    rest = [p for p in pieces if p not in ("<pad>", "</s>", "<s>", "<unk>")]
    return {p: i for i, p in enumerate(["</s>", "<unk>", *rest, "<pad>"])}


out.mkdir()
source, target = words(sys.argv[2]), words(sys.argv[3])
tensors = {}


def put(name, *shape, one=0.0, size=0.5):
    n = 1
    for side in shape:
        n *= side
    tensors[name] = (shape, [one + size * (2 * rng.random() - 1) for _ in range(n)])


def linear(name, n_in, n_out):
    put(name + ".weight", n_out, n_in)
    put(name + ".bias", n_out, size=0.1)


def norm(name):
    put(name + ".weight", D, one=1, size=0.1)
    put(name + ".bias", D, size=0.1)


for side in ("encoder", "decoder"):
    for layer in range(LAYERS):
        path = f"model.{side}.layers.{layer}."
        for attention in ["self_attn"] + ["encoder_attn"] * (side == "decoder"):
            for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
                linear(path + attention + "." + part, D, D)
            norm(path + attention + "_layer_norm")
        linear(path + "fc1", D, F)
        linear(path + "fc2", F, D)
        norm(path + "final_layer_norm")
put("model.encoder.embed_tokens.weight", len(source), D)
put("model.decoder.embed_tokens.weight", len(target), D)
put("final_logits_bias", 1, len(target))

head, at, body = {}, 0, []
for name, (shape, values) in tensors.items():
    body.append(struct.pack(f"<{len(values)}f", *values))
    head[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * len(values)]}
    at += 4 * len(values)
text = json.dumps(head).encode()
(out / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(body))
(out / "vocab.json").write_text(json.dumps(source))
(out / "target_vocab.json").write_text(json.dumps(target))
shutil.copy(sys.argv[2] + ".model", out / "source.spm")
shutil.copy(sys.argv[3] + ".model", out / "target.spm")
(out / "config.json").write_text(json.dumps({
    "model_type": "marian", "d_model": D, "encoder_layers": LAYERS, "decoder_layers": LAYERS,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "encoder_ffn_dim": F,
    "decoder_ffn_dim": F, "activation_function": "swish", "scale_embedding": True,
    "share_encoder_decoder_embeddings": False, "tie_word_embeddings": True,
    "decoder_start_token_id": target["<pad>"], "static_position_embeddings": True}))
