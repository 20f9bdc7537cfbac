#!/usr/bin/env python3
"""Models that other programs make are read by Ferry and compared with them.

usage: models.py FERRY text FOLDER          tokenizers of the texts train.en, train.de in FOLDER
       models.py FERRY KIND NAME FOLDER     make the model NAME and compare; KIND is hf, marian or ct2

Ferry and the program itself translate test.en greedily and score the pairs of test.en and test.de. At
least 99 % of the translations must be equal (of those that never end, as far as both go), and
log-probabilities within 1e-3 (float16, whose positions are halves there and exact here: 5e-3). Of models in int8 BLEU must be within 0.3 of what the same
model has in float.
"""
import json, os, shutil, subprocess, sys

sys.path.pop(0)  # where a script of ours is called sacrebleu.py

STEPS = int(os.environ.get("STEPS", "300"))
LONG = 50  # characters beyond which a translation that never ends may be cut elsewhere
# activation, sides have vocabularies of their own, tables are tied, embeddings are scaled, weights
HF = {"swish": ("swish", False, True, True, "safetensors"), "gelu": ("gelu", True, False, False, "bin"),
      "relu": ("relu", False, True, False, "safetensors"), "apart": ("gelu_new", True, True, True, "safetensors")}
PRE = dict(transformer_preprocess="n", transformer_postprocess="da", transformer_postprocess_top="n")
MARIAN = {"post": ("sides", dict(transformer_ffn_activation="swish")),
          "pre": ("both", dict(PRE, tied_embeddings_all=True, transformer_ffn_activation="relu")),
          "gelu": ("sides", dict(PRE, tied_embeddings=True, transformer_ffn_activation="gelu")),
          "opus": ("yml", dict(tied_embeddings_all=True, transformer_ffn_activation="swish"))}
# made of which model, precision
CT2 = {"hf": ("hf-swish", None), "hf-half": ("hf-swish", "float16"), "hf-int16": ("hf-swish", "int16"), "hf-int8": ("hf-swish", "int8"),
       "marian": ("marian-opus", None), "marian-int8": ("marian-opus", "int8")}


def lines(path):
    with open(path) as f:
        return f.read().splitlines()


def spm(folder, name):
    import sentencepiece
    return sentencepiece.SentencePieceProcessor(model_file=f"{folder}/{name}.spm")


def text(folder):
    import sentencepiece
    for name, files, size in (("en", ["en"], 1500), ("de", ["de"], 1500), ("both", ["en", "de"], 2000)):
        sentencepiece.SentencePieceTrainer.train(
            input=",".join(f"{folder}/train.{x}" for x in files), model_prefix=f"{folder}/{name}", vocab_size=size, minloglevel=2,
            hard_vocab_limit=False, pad_id=-1, bos_id=-1, eos_id=0, unk_id=1)
        os.rename(f"{folder}/{name}.model", f"{folder}/{name}.spm")
    with open(folder + "/vocab.yml", "w") as f:
        for token, i in vocabulary([spm(folder, "en"), spm(folder, "de")]).items():
            f.write(f"{json.dumps(token, ensure_ascii=False)}: {i}\n")
    for side in ("en", "de"):
        p = spm(folder, side)
        for what in ("train", "test"):
            with open(f"{folder}/{what}.pieces.{side}", "w") as f:
                f.writelines(" ".join(p.encode(x, out_type=str)) + "\n" for x in lines(f"{folder}/{what}.{side}"))


def vocabulary(processors, first=()):
    seen = {t: i for i, t in enumerate(("</s>", "<unk>", *first))}
    for p in processors:
        for i in range(p.get_piece_size()):
            seen.setdefault(p.id_to_piece(i), len(seen))
    return seen


def bleu(got, folder):
    import sacrebleu
    return sacrebleu.corpus_bleu(got, [lines(folder + "/test.de")]).score


# ---- Ferry ----

def translate(ferry, model, folder):
    out = subprocess.run([ferry, "translate", model, folder + "/test.en", "--greedy", "split=no", "max_repeats=0", "min_length=0",
                          "extra_decode_length=200"], check=True, capture_output=True, text=True).stdout
    return out.splitlines()


def score(ferry, model, folder):
    pairs = folder + "/pairs.tsv"
    with open(pairs, "w") as f:
        f.writelines(f"{s}\t{t}\n" for s, t in zip(lines(folder + "/test.en"), lines(folder + "/test.de")))
    out = subprocess.run([ferry, "score-pairs", model, pairs], check=True, capture_output=True, text=True).stdout
    return [float(x.split()[0]) for x in out.splitlines()]


def is_same(a, b):
    """<unk> is shown as U+2047 by SentencePiece, and not at all by transformers."""
    a, b = (x.replace("⁇", "").replace(" ", "") for x in (a, b))
    return a == b or (min(len(a), len(b)) > LONG and (a.startswith(b) or b.startswith(a)))


def is_covered(folder):
    """Of each pair, whether no two characters side by side are in no piece: those are one unknown token for
    other programs, and for Ferry as many as there are, since some may be known to the other side."""
    def covers(p, line):
        return all(len(t) == 1 or p.piece_to_id(t) != p.unk_id() for t in p.encode(line, out_type=str))
    a, b = spm(folder, "en"), spm(folder, "de")
    return [covers(a, s) and covers(b, t) for s, t in zip(lines(folder + "/test.en"), lines(folder + "/test.de"))]


def compare(ferry, name, model, folder, translations, scores, most=1e-3):
    """None: nothing to hold it against."""
    words = [name]
    good = True
    if translations is not None:
        ours = translate(ferry, model, folder)
        n = sum(map(is_same, ours, translations))
        good &= len(ours) == len(translations) and n >= 0.99 * len(ours)
        apart = [(a, b) for a, b in zip(ours, translations) if not is_same(a, b)]
        if not good:
            print("\n".join(f"Ferry: {a}\nthere: {b}" for a, b in apart[:5]))
        words.append(f"{n} of {len(translations)} translations are equal, BLEU {bleu(ours, folder):.2f}, {bleu(translations, folder):.2f} there")
    if scores is not None:
        apart = [abs(a - b) for a, b, is_one in zip(score(ferry, model, folder), scores, is_covered(folder), strict=True) if is_one]
        good &= max(apart) <= most and len(apart) > 0.95 * len(scores)
        words.append(f"log-probabilities of {len(apart)} pairs within {max(apart):.1e}")
    print("; ".join(words), flush=True)
    return good


# ---- Hugging Face ----

def train(model, source, target, pad):
    import torch
    optimizer, g = torch.optim.Adam(model.parameters(), lr=3e-3), torch.Generator().manual_seed(2)

    def batch(rows, fill):
        n = max(map(len, rows))
        return torch.tensor([r + [fill] * (n - len(r)) for r in rows])
    for _ in range(STEPS):
        pick = torch.randint(len(source), (48,), generator=g).tolist()
        x, y = batch([source[i] for i in pick], pad), batch([target[i] for i in pick], -100)
        start = torch.cat([torch.full((48, 1), pad), torch.where(y[:, :-1] < 0, 0, y[:, :-1])], 1)
        logits = model(input_ids=x, attention_mask=(x != pad).long(), decoder_input_ids=start).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=-100, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def make_hf(path, folder, activation, is_apart, is_tied, is_scaled, weights):
    import torch
    from transformers import MarianConfig, MarianMTModel
    torch.manual_seed(1)
    os.makedirs(path)
    sides = [spm(folder, "en"), spm(folder, "de")]
    source = vocabulary(sides[:1], ["<pad>"]) if is_apart else vocabulary(sides)
    source.setdefault("<pad>", len(source))
    target = vocabulary(sides[1:], ["<pad>"]) if is_apart else source
    for file, v in (("vocab.json", source), ("target_vocab.json", target))[:1 + is_apart]:
        with open(f"{path}/{file}", "w") as f:
            json.dump(v, f, ensure_ascii=False)
    shutil.copy(f"{folder}/en.spm", path + "/source.spm")
    shutil.copy(f"{folder}/de.spm", path + "/target.spm")
    with open(path + "/tokenizer_config.json", "w") as f:
        json.dump({"source_lang": "en", "target_lang": "de", "separate_vocabs": is_apart, "tokenizer_class": "MarianTokenizer"}, f)
    pad = target["<pad>"]
    model = MarianMTModel(MarianConfig(
        vocab_size=len(source), decoder_vocab_size=len(target), d_model=64, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=128,
        decoder_ffn_dim=128, encoder_attention_heads=4, decoder_attention_heads=4, activation_function=activation, scale_embedding=is_scaled,
        share_encoder_decoder_embeddings=not is_apart, tie_word_embeddings=is_tied, pad_token_id=pad, eos_token_id=0,
        decoder_start_token_id=pad, forced_eos_token_id=None, dropout=0.0, max_position_embeddings=512, bad_words_ids=[[pad]], num_beams=1))

    def ids(p, v, name):
        return [[v.get(t, 1) for t in p.encode(x, out_type=str)] + [0] for x in lines(f"{folder}/{name}")]
    train(model, ids(sides[0], source, "train.en"), ids(sides[1], target, "train.de"), pad)
    with torch.no_grad():  # as models of OPUS-MT are: decoders begin with zeros, which CTranslate2 takes for granted
        model.final_logits_bias.normal_(std=0.1)
        model.get_decoder().embed_tokens.weight[pad] = 0
    model.save_pretrained(path)
    if weights == "bin":
        os.remove(path + "/model.safetensors")
        torch.save(model.state_dict(), path + "/pytorch_model.bin")
    return model.eval()


def hf(ferry, name, folder):
    import torch
    from transformers import MarianTokenizer
    path = f"{folder}/hf-{name}"
    model = make_hf(path, folder, *HF[name])
    tok, pad = MarianTokenizer.from_pretrained(path), model.config.decoder_start_token_id
    source, target, out, scores = lines(folder + "/test.en"), lines(folder + "/test.de"), [], []
    with torch.no_grad():
        for at in range(0, len(source), 50):
            x = tok(source[at:at + 50], return_tensors="pt", padding=True)
            y = model.generate(**x, num_beams=1, do_sample=False, max_new_tokens=120, bad_words_ids=[[pad]])
            out += tok.batch_decode(y, skip_special_tokens=True)
            for s, t in zip(source[at:at + 50], target[at:at + 50]):
                y = tok(text_target=[t]).input_ids[0]
                logits = model(**tok([s], return_tensors="pt"), decoder_input_ids=torch.tensor([[pad] + y[:-1]])).logits[0].double()
                logits[:, pad] = -float("inf")  # a token that is never said
                scores.append(float(logits.log_softmax(-1)[range(len(y)), y].sum()))
    return compare(ferry, f"hf-{name}", path, folder, out, scores)


# ---- Marian ----

def pymarian(code):
    """In a process of its own, which it ends when something is wrong."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if done.returncode:
        sys.exit("Marian has failed:\n" + done.stderr[-1000:])
    return done.stdout


def make_marian(path, folder, vocabularies, options):
    os.makedirs(path)
    files = {"both": ["both.spm"] * 2, "sides": ["en.spm", "de.spm"], "yml": ["vocab.yml"] * 2}[vocabularies]
    for file in {*files, *(["en.spm", "de.spm"] if vocabularies == "yml" else [])}:
        shutil.copy(f"{folder}/{file}", path)
    if vocabularies == "yml":
        os.rename(path + "/en.spm", path + "/source.spm")
        os.rename(path + "/de.spm", path + "/target.spm")
    middle = ".pieces" if vocabularies == "yml" else ""
    vocabs = [f"{path}/{x}" for x in files]
    config = dict(type="transformer", model=path + "/model.npz", train_sets=[f"{folder}/train{middle}.{x}" for x in ("en", "de")], vocabs=vocabs,
                  enc_depth=2, dec_depth=2, dim_emb=64, transformer_dim_ffn=128, transformer_heads=4, label_smoothing=0.1, cpu_threads=1,
                  workspace=500, mini_batch=64, maxi_batch=20, after_batches=STEPS, learn_rate=0.003, lr_warmup=100, save_freq="100000u",
                  max_length=80, seed=3, quiet=True, **options)
    pymarian(f"from pymarian import Trainer; Trainer(**{config!r}).train()")
    os.remove(path + "/model.npz.optimizer.npz")
    return vocabs, middle


def marian_scores(path, vocabs, folder, middle):
    words = ["score", "-m", path + "/model.npz", "-v", *vocabs, "-t", f"{folder}/test{middle}.en", f"{folder}/test{middle}.de", "--cpu-threads", "1",
             "--workspace", "300", "--quiet"]
    return [float(x) for x in pymarian(f"import _pymarian; _pymarian.main({words!r})").split()]


def marian_translations(path, vocabs, folder, middle):
    out = pymarian(f"""from pymarian import Translator
t = Translator(models={path + '/model.npz'!r}, vocabs={vocabs!r}, beam_size=1, normalize=0, cpu_threads=1, max_length=300, mini_batch=32, maxi_batch=10, workspace=500, quiet=True)
print(t.translate(open({f'{folder}/test{middle}.en'!r}).read().rstrip("\\n")))""").splitlines()
    if middle:
        out = [x.replace(" ", "").replace("▁", " ").strip() for x in out]
    return out


def marian(ferry, name, folder):
    path, (vocabularies, options) = f"{folder}/marian-{name}", MARIAN[name]
    vocabs, middle = make_marian(path, folder, vocabularies, options)
    scores = marian_scores(path, vocabs, folder, middle)
    if "transformer_preprocess" in options:
        # Marian's decoder gives the attention to earlier words keys and values without the norm that
        # training and scoring give them, so its translations are of another model.
        return compare(ferry, f"marian-{name}", path, folder, None, scores)
    return compare(ferry, f"marian-{name}", path, folder, marian_translations(path, vocabs, folder, middle), scores)


def back(ferry, model, folder):
    """What Ferry has exported for Marian, whose text is pieces, is translated with by both."""
    path = f"{folder}/{model}"
    vocabs = [f"{path}/{side}.vocab.yml" for side in ("source", "target")]
    return compare(ferry, model, path, folder, marian_translations(path, vocabs, folder, ".pieces"),
                   marian_scores(path, vocabs, folder, ".pieces"))


# ---- CTranslate2 ----

def without_padding(model):
    """CTranslate2's converter stumbles over the zeros with which Marian 1.12 fills up its options."""
    import numpy
    arrays = dict(numpy.load(model + "/model.npz"))
    options = bytes(arrays["special:model.yml"]).split(b"\0")[0].rstrip() + b"\n\0"
    arrays["special:model.yml"] = numpy.frombuffer(options, dtype=numpy.int8)
    numpy.savez(model + "/plain", **arrays)
    os.rename(model + "/plain.npz", model + "-plain.npz")
    return model + "-plain.npz"


def ct2(ferry, name, folder):
    import ctranslate2
    (source, precision), path = CT2[name], f"{folder}/ct2-{name}"
    made_of = f"{folder}/{source}"
    if source.startswith("hf"):
        ctranslate2.converters.TransformersConverter(made_of, copy_files=["source.spm", "target.spm"]).convert(path, quantization=precision)
    else:
        ctranslate2.converters.MarianConverter(without_padding(made_of), [made_of + "/vocab.yml"] * 2).convert(path, quantization=precision)
        for file in ("source.spm", "target.spm"):
            shutil.copy(f"{made_of}/{file}", path)
    sides = spm(folder, "en"), spm(folder, "de")
    end = ["</s>"] if source.startswith("hf") else []
    given = [sides[0].encode(x, out_type=str) + end for x in lines(folder + "/test.en")]
    # weights are what is compared: CTranslate2's own arithmetic in int8 rounds activations as well
    t = ctranslate2.Translator(path, compute_type="float32", intra_threads=1)
    scores = [sum(r.log_probs) for r in t.score_batch(given, [sides[1].encode(x, out_type=str) for x in lines(folder + "/test.de")])]
    out = [sides[1].decode(r.hypotheses[0]) for r in t.translate_batch(given, beam_size=1, max_decoding_length=120)]
    good = compare(ferry, f"ct2-{name}", path, folder, out, scores, 5e-3 if precision == "float16" else 1e-3)
    if precision == "int8":
        a, b = bleu(translate(ferry, path, folder), folder), bleu(translate(ferry, made_of, folder), folder)
        print(f"ct2-{name}: BLEU {a:.2f} in int8, {b:.2f} in float")
        good &= abs(a - b) <= 0.3
    return good


def main():
    ferry, kind, *rest = sys.argv[1:]
    if kind == "text":
        return text(*rest)
    sys.exit(not {"hf": hf, "marian": marian, "back": back, "ct2": ct2}[kind](ferry, *rest))


if __name__ == "__main__":
    main()
