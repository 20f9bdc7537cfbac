#!/usr/bin/env python3
"""Make tests/data/foreign: models of a few kilobytes by the programs whose models Ferry reads,
and what those programs say of them.

usage: tools/golden_foreign.py [FOLDER]

Every model is a zip archive. expected.json has, for each, pairs of sentences with their natural
log-probabilities as the program itself computes them. transformers, ctranslate2, pymarian, torch,
sentencepiece and safetensors must be installed; nothing but this script needs them.
"""
import io, json, os, shutil, subprocess, sys, tempfile, zipfile

SOURCE = ["a small ferry crosses the river", "two boats wait at the shore", "the river is wide and the boat is small",
          "we cross at night", "the captain counts the boats", "a boat waits", "night falls over the wide river"]
TARGET = ["eine kleine Fähre quert den Fluss", "zwei Boote warten am Ufer", "der Fluss ist breit und das Boot ist klein",
          "wir queren bei Nacht", "der Kapitän zählt die Boote", "ein Boot wartet", "Nacht fällt über den breiten Fluss"]
PAIRS = list(zip(SOURCE[:4], TARGET[:4])) + [("the captain waits at 7", "der Kapitän wartet um 7")]
D, FF, HEADS = 8, 16, 2


def tokenizer(path, lines, size):
    import sentencepiece
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines * 20), model_prefix=path, vocab_size=size, hard_vocab_limit=False, minloglevel=2,
        normalization_rule_name="identity", pad_id=-1, bos_id=-1, eos_id=0, unk_id=1, character_coverage=1.0, num_threads=1)
    os.rename(path + ".model", path + ".spm")
    return sentencepiece.SentencePieceProcessor(model_file=path + ".spm")


def vocabulary(*processors, first=()):
    seen = {t: i for i, t in enumerate(("</s>", "<unk>", *first))}
    for p in processors:
        for i in range(p.get_piece_size()):
            seen.setdefault(p.id_to_piece(i), len(seen))
    return seen


def pack(path, folder, inside=""):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name in sorted(os.listdir(folder)):
            info = zipfile.ZipInfo(inside + name, (2020, 1, 1, 0, 0, 0))
            with open(os.path.join(folder, name), "rb") as f:
                z.writestr(info, f.read(), zipfile.ZIP_STORED if name == "config.json" else zipfile.ZIP_DEFLATED, 9)


# ---- Hugging Face ----

def huggingface(folder, spm, activation, is_apart, is_tied, is_scaled, weights):
    import torch
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer
    os.makedirs(folder)
    # <pad> has one number on both sides; vocabularies of OPUS-MT have it last
    source = vocabulary(spm[0], first=["<pad>"]) if is_apart else vocabulary(*spm[:2])
    source.setdefault("<pad>", len(source))
    target = vocabulary(spm[1], first=["<pad>"]) if is_apart else source
    for name, v in (("vocab.json", source), ("target_vocab.json", target))[:1 + is_apart]:
        with open(f"{folder}/{name}", "w") as f:
            json.dump(v, f, ensure_ascii=False)
    shutil.copy(f"{spm[2]}/en.spm", folder + "/source.spm")
    shutil.copy(f"{spm[2]}/de.spm", folder + "/target.spm")
    with open(folder + "/tokenizer_config.json", "w") as f:
        json.dump({"source_lang": "en", "target_lang": "de", "separate_vocabs": is_apart, "tokenizer_class": "MarianTokenizer"}, f)
    pad = target["<pad>"]
    torch.manual_seed(7)
    model = MarianMTModel(MarianConfig(
        vocab_size=len(source), decoder_vocab_size=len(target), d_model=D, encoder_layers=2, decoder_layers=1,
        encoder_ffn_dim=FF, decoder_ffn_dim=FF, encoder_attention_heads=HEADS, decoder_attention_heads=HEADS,
        activation_function=activation, scale_embedding=is_scaled, share_encoder_decoder_embeddings=not is_apart,
        tie_word_embeddings=is_tied, pad_token_id=pad, eos_token_id=0, decoder_start_token_id=pad, forced_eos_token_id=None,
        max_position_embeddings=64, init_std=0.5)).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if name.endswith("bias") or "layer_norm" in name:
                p.add_(torch.randn_like(p) * 0.2)
        model.final_logits_bias.normal_(std=0.3)
    model.save_pretrained(folder)
    if weights == "bin":
        os.remove(folder + "/model.safetensors")
        torch.save(model.state_dict(), folder + "/pytorch_model.bin")
    if os.path.exists(folder + "/generation_config.json"):
        os.remove(folder + "/generation_config.json")
    tok = MarianTokenizer.from_pretrained(folder)
    scores = []
    for s, t in PAIRS:
        x, y = tok([s], return_tensors="pt"), tok(text_target=[t]).input_ids[0]
        logits = model(**x, decoder_input_ids=torch.tensor([[pad] + y[:-1]])).logits[0].double()
        logits[:, pad] = -float("inf")  # a token that is never said
        scores.append(float(logits.log_softmax(-1)[range(len(y)), y].sum()))
    return scores


# ---- CTranslate2 ----

def ctranslate2_of(folder, model, quantization):
    import ctranslate2
    ctranslate2.converters.TransformersConverter(model, copy_files=["source.spm", "target.spm"]).convert(
        folder, quantization=quantization)


def ctranslate2_scores(folder, spm):
    import ctranslate2
    t = ctranslate2.Translator(folder, compute_type="float32", intra_threads=1)
    got = t.score_batch([spm[0].encode(s, out_type=str) + ["</s>"] for s, _ in PAIRS],
                        [spm[1].encode(t, out_type=str) for _, t in PAIRS])
    return [sum(r.log_probs) for r in got]


# ---- Marian ----

def marian(folder, spm, options):
    """pymarian runs in a process of its own, because it ends it when something is wrong."""
    os.makedirs(folder)
    for side, lines in (("en", SOURCE), ("de", TARGET)):
        with open(f"{folder}/{side}", "w") as f:
            f.write("\n".join(lines * 4) + "\n")
        with open(f"{folder}/p.{side}", "w") as f:
            f.write("\n".join(x[side == "de"] for x in PAIRS) + "\n")
        shutil.copy(f"{spm[2]}/{options['vocabs'][side == 'de']}.spm", f"{folder}/{side}.spm")
    vocabs = [f"{folder}/en.spm", f"{folder}/de.spm"]
    train = dict(type="transformer", model=f"{folder}/model.npz", train_sets=[f"{folder}/en", f"{folder}/de"], vocabs=vocabs,
                 enc_depth=1, dec_depth=2, dim_emb=D, transformer_dim_ffn=FF, transformer_heads=HEADS, cpu_threads=1,
                 workspace=100, mini_batch=8, after_batches=30, learn_rate=0.01, save_freq="10000u", seed=5, quiet=True, **options["train"])
    code = f"from pymarian import Trainer; Trainer(**{train!r}).train()"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    words = ["score", "-m", f"{folder}/model.npz", "-v", *vocabs, "-t", f"{folder}/p.en", f"{folder}/p.de", "--cpu-threads", "1",
             "--workspace", "100", "--quiet"]
    out = subprocess.run([sys.executable, "-c", f"import _pymarian; _pymarian.main({words!r})"], check=True, capture_output=True, text=True).stdout
    for name in os.listdir(folder):
        if name not in ("model.npz", "en.spm", "de.spm"):
            os.remove(f"{folder}/{name}")
    with open(folder + "/decoder.yml", "w") as f:
        f.write("models:\n  - /elsewhere/model.npz\nvocabs:\n  - /elsewhere/en.spm\n  - /elsewhere/de.spm\n")
    return [float(x) for x in out.split()]


PRE = dict(transformer_preprocess="n", transformer_postprocess="da", transformer_postprocess_top="n")
MARIAN = {"marian-post": dict(vocabs=("en", "de"), train=dict(transformer_ffn_activation="swish")),
          "marian-pre": dict(vocabs=("both", "both"), train=dict(PRE, tied_embeddings_all=True, transformer_ffn_activation="relu")),
          "marian-gelu": dict(vocabs=("en", "de"), train=dict(PRE, tied_embeddings=True, transformer_ffn_activation="gelu"))}
HUGGINGFACE = {"hf-swish": ("swish", False, True, True, "safetensors"), "hf-gelu": ("gelu", True, False, False, "bin"),
               "hf-relu": ("relu", True, True, True, "safetensors")}
CTRANSLATE2 = {"ct2-float": ("hf-swish", None), "ct2-int8": ("hf-swish", "int8"), "ct2-int16": ("hf-swish", "int16"),
               "ct2-half": ("hf-swish", "float16")}


# ---- seeds of fuzzing ----

# By the numbers of tests/fuzz/fuzz_foreign.c.
FILES = ["config.json", "vocab.json", "target_vocab.json", "source.spm", "target.spm", "model.safetensors", "model.bin", "pytorch_model.bin",
         "shared_vocabulary.json", "decoder.yml", "model.npz", "source_vocabulary.json", "vocab.yml", "target_vocabulary.json",
         "tokenizer_config.json", "vocab.spm", "en.spm", "de.spm", "vocab.model", "target.model", "source.vocab.yml", "target.vocab.yml",
         "shared_vocabulary.txt", "source_vocabulary.txt", "target_vocabulary.txt", "map"]
TENSORS = {"model.safetensors": 0, "model.npz": 1, "model.bin": 2, "pytorch_model.bin": 3}


def row(files):
    return b"".join(bytes([FILES.index(k)]) + len(v).to_bytes(3, "little") + v for k, v in files.items() if k in FILES)


def members(path):
    archive = zipfile.ZipFile(path)
    return {os.path.basename(i.filename): archive.read(i) for i in archive.infolist()}


def exported(model, to):
    """The files of `ferry export` ($FERRY) of a model."""
    with tempfile.TemporaryDirectory() as work:
        ferry = os.environ.get("FERRY", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../build/release/ferry"))
        subprocess.run([ferry, "export", model, f"to={to}", f"out={work}/out"], check=True, capture_output=True)
        return {name: open(f"{work}/out/{name}", "rb").read() for name in sorted(os.listdir(work + "/out"))}


def exported_seeds(models, put):
    """What no other program writes, or not so small."""
    model = models + "/marian-post.zip"
    own = exported(model, "safetensors")
    put("foreign", "own", row(own))
    name = b"ForwardPass/transformer_encoder/layer_0/self_attention/self_attention/q/kernel"
    theirs = b"theirs".ljust(len(name), b"_")
    own["model.safetensors"] = own["model.safetensors"].replace(name, theirs)
    put("foreign", "own-map", row(own | {"map": name + b": " + theirs + b" transposed\n"}))
    put("foreign", "marian-yml", row(exported(model, "marian")))
    files = members(models + "/ct2-int8.zip")
    words = json.loads(files.pop("shared_vocabulary.json"))
    put("foreign", "ct2-txt", row(files | {"shared_vocabulary.txt": "\n".join(words).encode()}))


def seeds(models, corpus):
    def put(subject, name, data):
        os.makedirs(f"{corpus}/{subject}", exist_ok=True)
        with open(f"{corpus}/{subject}/{name}", "wb") as f:
            f.write(data)

    for name in sorted(os.listdir(models)):
        if not name.endswith(".zip"):
            continue
        files = members(f"{models}/{name}")
        put("foreign", name[:-4], row(files))
        for k, v in files.items():
            if k in TENSORS and name in ("hf-swish.zip", "hf-gelu.zip", "ct2-int8.zip", "marian-pre.zip"):
                put("tensors", name[:-4], bytes([TENSORS[k]]) + v)
            if k == "pytorch_model.bin":
                put("pickle", name[:-4], zipfile.ZipFile(io.BytesIO(v)).read("pytorch_model/data.pkl"))
            if k == "decoder.yml":
                put("yaml_pairs", name[:-4], v)
        if name in ("hf-gelu.zip", "ct2-int8.zip"):
            with open(f"{models}/{name}", "rb") as f:
                put("zip", name[:-4], f.read())
    exported_seeds(models, put)
    put("yaml_pairs", "vocabulary", "\n".join(f"{json.dumps(k, ensure_ascii=False)}: {i}" for i, k in enumerate(("</s>", "<unk>", "▁a", "\"", "ß"))).encode())


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/data/foreign")
    os.makedirs(out, exist_ok=True)
    expected = {}
    with tempfile.TemporaryDirectory() as work:
        spm = [tokenizer(f"{work}/en", SOURCE, 40), tokenizer(f"{work}/de", TARGET, 44), work]
        tokenizer(f"{work}/both", SOURCE + TARGET, 60)
        for name, options in HUGGINGFACE.items():
            expected[name] = huggingface(f"{work}/{name}", spm, *options)
        for name, (model, quantization) in CTRANSLATE2.items():
            ctranslate2_of(f"{work}/{name}", f"{work}/{model}", quantization)
            expected[name] = ctranslate2_scores(f"{work}/{name}", spm)
        for name, options in MARIAN.items():
            expected[name] = marian(f"{work}/{name}", spm, options)
        for name in expected:
            pack(f"{out}/{name}.zip", f"{work}/{name}", "folder/" if name == "hf-gelu" else "")
    with open(f"{out}/expected.json", "w") as f:
        json.dump({"pairs": PAIRS, "scores": {k: [round(x, 6) for x in v] for k, v in expected.items()}}, f, ensure_ascii=False, indent=1)
        f.write("\n")
    seeds(out, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/fuzz/corpus"))


if __name__ == "__main__":
    main()
