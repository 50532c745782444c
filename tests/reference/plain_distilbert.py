"""DistilBERT (Sanh et al., 2019) in plain NumPy float64, with Hugging Face's tensors."""

import math

import numpy as np


def random_tensors(
    seed: int, labels: int, words=30, hidden=16, wide=24, layers=2, positions=12
) -> dict[str, np.ndarray]:
    """Return a DistilBertForSequenceClassification with random float32 weights."""
    shapes = {
        "distilbert.embeddings.word_embeddings.weight": (words, hidden),
        "distilbert.embeddings.position_embeddings.weight": (positions, hidden),
        "classifier.weight": (labels, hidden),
        "classifier.bias": (labels,),
    }
    norms = ["distilbert.embeddings.LayerNorm"]
    dense = {"pre_classifier": (hidden, hidden)}
    for layer in (f"distilbert.transformer.layer.{number}" for number in range(layers)):
        dense |= {f"{layer}.attention.{suffix}_lin": (hidden, hidden) for suffix in ("q", "k", "v", "out")}
        dense |= {f"{layer}.ffn.lin1": (wide, hidden), f"{layer}.ffn.lin2": (hidden, wide)}
        norms += [f"{layer}.sa_layer_norm", f"{layer}.output_layer_norm"]
    for scope, shape in dense.items():
        shapes |= {f"{scope}.weight": shape, f"{scope}.bias": shape[:1]}
    shapes |= {f"{scope}.{suffix}": (hidden,) for scope in norms for suffix in ("weight", "bias")}
    rng = np.random.default_rng(seed)
    return {name: rng.normal(0, 0.8, shape).astype(np.float32) for name, shape in shapes.items()}


def states(tensors: dict, heads: int, word_ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the last layer's output, float64 [B, S, H].

    Args:
        tensors: weights by Hugging Face name.
        heads: number of attention heads.
        word_ids: token ids, int [B, S].
        mask: 1 for a token, 0 for padding, int [B, S].
    """
    name = "distilbert.embeddings."
    x = np.float64(tensors[f"{name}word_embeddings.weight"][word_ids])
    x = _norm(tensors, f"{name}LayerNorm", x + tensors[f"{name}position_embeddings.weight"][: word_ids.shape[1]])
    number = 0
    while f"distilbert.transformer.layer.{number}.ffn.lin1.bias" in tensors:
        layer = f"distilbert.transformer.layer.{number}"
        query, key, value = (_split(_dense(tensors, f"{layer}.attention.{letter}_lin", x), heads) for letter in "qkv")
        scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
        weights = np.exp(scores - scores.max(-1, keepdims=True)) * mask[:, None, None, :]
        context = (weights / weights.sum(-1, keepdims=True)) @ value
        context = context.transpose(0, 2, 1, 3).reshape(x.shape)
        x = _norm(tensors, f"{layer}.sa_layer_norm", _dense(tensors, f"{layer}.attention.out_lin", context) + x)
        wide = _dense(tensors, f"{layer}.ffn.lin1", x)
        wide = wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2))) / 2
        x = _norm(tensors, f"{layer}.output_layer_norm", _dense(tensors, f"{layer}.ffn.lin2", wide) + x)
        number += 1
    return x


def class_logits(tensors: dict, heads: int, word_ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the text classifier's logits [B, n]."""
    first = states(tensors, heads, word_ids, mask)[:, 0]
    return _dense(tensors, "classifier", np.maximum(_dense(tensors, "pre_classifier", first), 0))


def _dense(tensors, scope, x):
    return x @ np.float64(tensors[f"{scope}.weight"]).T + tensors[f"{scope}.bias"]


def _norm(tensors, scope, x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True) + 1e-12) * tensors[f"{scope}.weight"] + tensors[f"{scope}.bias"]


def _split(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)
