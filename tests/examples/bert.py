"""The same encoder in NumPy and float64, one sentence at a time, without padding."""

import math

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float64])


def random_weights(config, rng, words=50, positions=40):
    """Return small weights of a model, by BERT's names."""
    size, inner = config.hidden_size, config.intermediate_size
    dims = {
        "embeddings.word_embeddings.weight": (words, size),
        "embeddings.position_embeddings.weight": (positions, size),
        "embeddings.token_type_embeddings.weight": (2, size),
        "embeddings.LayerNorm.weight": (size,),
        "embeddings.LayerNorm.bias": (size,),
    }
    for layer in range(config.num_hidden_layers):
        name = f"encoder.layer.{layer}"
        linear = {f"attention.self.{part}": (size, size) for part in ("query", "key", "value")}
        linear |= {"attention.output.dense": (size, size), "intermediate.dense": (inner, size)}
        linear |= {"output.dense": (size, inner), "attention.output.LayerNorm": (size,), "output.LayerNorm": (size,)}
        for part, shape in linear.items():
            dims |= {f"{name}.{part}.weight": shape, f"{name}.{part}.bias": shape[:1]}
    return {name: rng.standard_normal(shape, np.float32) * np.float32(0.3) for name, shape in dims.items()}


def encode(config, weights, ids):
    """Return the vector of a sentence."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}

    def norm(x, name):
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + config.layer_norm_eps)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x, name):
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in range(config.num_hidden_layers):
        name = f"encoder.layer.{layer}"
        q, k, v = (
            np.stack(np.split(linear(x, f"{name}.attention.self.{part}"), config.num_attention_heads, axis=1))
            for part in ("query", "key", "value")
        )
        scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[2])
        shares = np.exp(scores - scores.max(axis=2, keepdims=True))
        shares /= shares.sum(axis=2, keepdims=True)
        context = np.concatenate(list(shares @ v), axis=1)
        x = norm(x + linear(context, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
        inner = linear(x, f"{name}.intermediate.dense")
        inner = inner * 0.5 * (1 + _erf(inner / math.sqrt(2)))
        x = norm(x + linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
    vector = x.mean(axis=0)
    return vector / np.linalg.norm(vector)
