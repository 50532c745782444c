"""ELECTRA (Clark et al., 2020) in plain NumPy float64, with Hugging Face's tensors."""

import math

import numpy as np


def random_tensors(
    seed: int, labels: int, words=30, width=8, hidden=16, wide=24, layers=2, positions=12
) -> dict[str, np.ndarray]:
    """Return an ElectraForSequenceClassification with random float32 weights.

    `width` is the embedding width.
    """
    shapes = {f"electra.embeddings.LayerNorm.{suffix}": (width,) for suffix in ("weight", "bias")}
    for name, rows in (("word", words), ("position", positions), ("token_type", 2)):
        shapes[f"electra.embeddings.{name}_embeddings.weight"] = (rows, width)
    dense = {"classifier.dense": (hidden, hidden), "classifier.out_proj": (labels, hidden)}
    dense["electra.embeddings_project"] = (hidden, width)
    for layer in (f"electra.encoder.layer.{number}" for number in range(layers)):
        dense |= {f"{layer}.attention.self.{suffix}": (hidden, hidden) for suffix in ("query", "key", "value")}
        dense |= {f"{layer}.attention.output.dense": (hidden, hidden)}
        dense |= {f"{layer}.intermediate.dense": (wide, hidden), f"{layer}.output.dense": (hidden, wide)}
        for scope in (f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"):
            shapes |= {f"{scope}.{suffix}": (hidden,) for suffix in ("weight", "bias")}
    return _draw(seed, shapes | _dense_shapes(dense))


def random_generator_head(seed: int, words=30, width=8, hidden=16) -> dict[str, np.ndarray]:
    """Return random weights for the part of ElectraForMaskedLM that is not the encoder."""
    shapes = {f"generator_predictions.LayerNorm.{suffix}": (width,) for suffix in ("weight", "bias")}
    shapes |= _dense_shapes({"generator_predictions.dense": (width, hidden)})
    return _draw(seed, shapes | {"generator_lm_head.bias": (words,)})


def random_discriminator_head(seed: int, hidden=16) -> dict[str, np.ndarray]:
    """Return random weights for the part of ElectraForPreTraining that is not the encoder."""
    dense = {"discriminator_predictions.dense": (hidden, hidden)}
    return _draw(seed, _dense_shapes(dense | {"discriminator_predictions.dense_prediction": (1, hidden)}))


def google_tensors(tensors: dict[str, np.ndarray], scope: str) -> dict[str, np.ndarray]:
    """Return the tensors under Google's names in a TF1 checkpoint.

    Args:
        tensors: weights by Hugging Face name.
        scope: name of the encoder: electra or generator.
    """
    renamed = {}
    for name, values in tensors.items():
        name = name.replace("electra.", f"{scope}.", 1) if name.startswith("electra.") else name
        for hugging_face, google in (
            ("lm_head", "predictions"),
            ("dense_prediction", "dense_1"),
            ("encoder.layer.", "encoder.layer_"),
        ):
            name = name.replace(hugging_face, google)
        *place, last = name.split(".")
        if place[-1] == "LayerNorm":
            last = {"weight": "gamma", "bias": "beta"}[last]
        elif name == "generator_predictions.bias":
            last = "output_bias"
        elif last == "weight" and "embeddings" not in place:
            last, values = "kernel", np.ascontiguousarray(values.T)
        renamed["/".join(place if place[-1].endswith("_embeddings") else [*place, last])] = values
    return renamed


def states(
    tensors: dict[str, np.ndarray], heads: int, word_ids: np.ndarray, mask: np.ndarray, types: np.ndarray
) -> np.ndarray:
    """Return the last layer's output, float64 [B, S, H].

    Args:
        tensors: weights by Hugging Face name.
        heads: number of attention heads.
        word_ids: token ids, int [B, S].
        mask: 1 for a token, 0 for padding, int [B, S].
        types: token types, int [B, S].
    """
    x = np.float64(tensors["electra.embeddings.word_embeddings.weight"][word_ids])
    x += tensors["electra.embeddings.token_type_embeddings.weight"][types]
    x += tensors["electra.embeddings.position_embeddings.weight"][: word_ids.shape[1]]
    x = _dense(tensors, "electra.embeddings_project", _norm(tensors, "electra.embeddings.LayerNorm", x))
    number = 0
    while f"electra.encoder.layer.{number}.output.dense.bias" in tensors:
        layer = f"electra.encoder.layer.{number}"
        query, key, value = (
            _split(_dense(tensors, f"{layer}.attention.self.{projection}", x), heads)
            for projection in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(-1, -2) / math.sqrt(query.shape[-1])
        weights = np.exp(scores - scores.max(-1, keepdims=True)) * mask[:, None, None, :]
        context = (weights / weights.sum(-1, keepdims=True)) @ value
        context = context.transpose(0, 2, 1, 3).reshape(x.shape)
        attended = _dense(tensors, f"{layer}.attention.output.dense", context)
        x = _norm(tensors, f"{layer}.attention.output.LayerNorm", attended + x)
        wide = _gelu(_dense(tensors, f"{layer}.intermediate.dense", x))
        x = _norm(tensors, f"{layer}.output.LayerNorm", _dense(tensors, f"{layer}.output.dense", wide) + x)
        number += 1
    return x


def class_logits(tensors: dict[str, np.ndarray], encoded: np.ndarray) -> np.ndarray:
    """Return the text classifier's logits [B, n] for an output of `states`."""
    return _dense(tensors, "classifier.out_proj", _gelu(_dense(tensors, "classifier.dense", encoded[:, 0])))


def word_logits(tensors: dict[str, np.ndarray], encoded: np.ndarray) -> np.ndarray:
    """Return the generator's logits [B, S, V]."""
    rows = _gelu(_dense(tensors, "generator_predictions.dense", encoded))
    rows = _norm(tensors, "generator_predictions.LayerNorm", rows)
    words = np.float64(tensors["electra.embeddings.word_embeddings.weight"])
    return rows @ words.T + tensors["generator_lm_head.bias"]


def replaced_logits(tensors: dict[str, np.ndarray], encoded: np.ndarray) -> np.ndarray:
    """Return the discriminator's logits [B, S]."""
    rows = _gelu(_dense(tensors, "discriminator_predictions.dense", encoded))
    return _dense(tensors, "discriminator_predictions.dense_prediction", rows)[..., 0]


def _dense_shapes(dense):
    return {f"{scope}.weight": shape for scope, shape in dense.items()} | {
        f"{scope}.bias": shape[:1] for scope, shape in dense.items()
    }


def _draw(seed, shapes):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(0, 0.8, shape).astype(np.float32) for name, shape in shapes.items()}


def _dense(tensors, scope, x):
    return x @ np.float64(tensors[f"{scope}.weight"]).T + tensors[f"{scope}.bias"]


def _norm(tensors, scope, x):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True) + 1e-12) * tensors[f"{scope}.weight"] + tensors[f"{scope}.bias"]


def _gelu(x):
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def _split(x, heads):
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)
