"""The tensors of the reference's base model: name -> (shape, dtype name)."""


def attention(prefix, inner, d):
    yield f"{prefix}/layer_normalization/layer_norm_scale", (d,)
    yield f"{prefix}/layer_normalization/layer_norm_bias", (d,)
    for part in ("q", "k", "v", "output_transform"):
        yield f"{prefix}/{inner}/{part}/kernel", (d, d)


def feed_forward(prefix, d, f):
    yield f"{prefix}/layer_normalization/layer_norm_scale", (d,)
    yield f"{prefix}/layer_normalization/layer_norm_bias", (d,)
    net = f"{prefix}/feed_foward_network"  # spelt so by the reference
    yield f"{net}/filter_layer/kernel", (d, f)
    yield f"{net}/filter_layer/bias", (f,)
    yield f"{net}/output_layer/kernel", (f, d)
    yield f"{net}/output_layer/bias", (d,)


def trainable(vocab, d, f, layers):
    encoder, decoder = "ForwardPass/transformer_encoder", "ForwardPass/transformer_decoder"
    yield f"{encoder}/embedding_shared_weights/embedding_and_softmax/weights", (vocab, d)
    for layer in range(layers):
        at = f"{encoder}/layer_{layer}"
        yield from attention(f"{at}/self_attention", "self_attention", d)
        yield from feed_forward(f"{at}/ffn", d, f)
        at = f"{decoder}/layer_{layer}"
        yield from attention(f"{at}/self_attention", "self_attention", d)
        yield from attention(f"{at}/encdec_attention", "attention", d)
        yield from feed_forward(f"{at}/ffn", d, f)
    for stack in (encoder, decoder):
        yield f"{stack}/layer_normalization/layer_norm_scale", (d,)
        yield f"{stack}/layer_normalization/layer_norm_bias", (d,)


def tensors(vocab=32768, d=512, f=2048, layers=6):
    out = {}
    for name, shape in trainable(vocab, d, f, layers):
        out[name] = (shape, "float32")
        out[f"Loss_Optimization/{name}/Adam"] = (shape, "float32")
        out[f"Loss_Optimization/{name}/Adam_1"] = (shape, "float32")
    out["Loss_Optimization/beta1_power"] = ((), "float32")
    out["Loss_Optimization/beta2_power"] = ((), "float32")
    out["global_step"] = ((), "int64")
    return out


def mixed_tensors(vocab=32768, d=512, f=2048, layers=6):
    """In mixed precision with Backoff: half weights beside fp32 masters and their slots."""
    out = {}
    for name, shape in trainable(vocab, d, f, layers):
        is_norm = "/layer_normalization/" in name
        master = name if is_norm else f"Loss_Optimization/FP32-master-copy/{name}"
        out[name] = (shape, "float32" if is_norm else "float16")
        for of in (master, f"Loss_Optimization/{master}/Adam", f"Loss_Optimization/{master}/Adam_1"):
            out[of] = (shape, "float32")
    for power in ("beta1_power", "beta2_power"):
        out[f"Loss_Optimization/cond_1/{power}"] = ((), "float32")
    out["Loss_Optimization/Variable"] = ((), "int64")
    out["Loss_Optimization/Variable_1"] = ((), "int64")
    out["Loss_Optimization/Variable_2"] = ((), "float32")
    out["global_step"] = ((), "int64")
    return out
