"""Independent BERT in NumPy float64, to compare the TensorFlow model, losses and optimizer with.

It is written from the published formulas, not from TensorFlow code. Weights are a dict {name in
2018 checkpoints: array}. Shapes: B batch, S sequence, H hidden, I intermediate, N heads, D head
width, V vocabulary, P predictions, L labels.

Each operation returns its result and a function `back`, which maps the result's gradient to the
input's gradient. `back` adds gradients of weights to the dict that it gets (a defaultdict of 0.0).
"""

import collections
import math

import numpy as np
from numpy_optimizer import global_norm

WORD_EMBEDDINGS = "bert/embeddings/word_embeddings"


def variable_shapes(config: dict, task: str = "", num_labels: int = 3) -> dict:
    """Return {variable name: shape} for the encoder, the pooler and a task's head.

    Args:
        config: values of bert_config.json.
        task: see `loss_and_gradients`; "" for no head.
        num_labels: number of labels for classification.
    """
    h, i, v = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    kernels, norms = {"bert/pooler/dense": (h, h)}, ["bert/embeddings"]
    for layer in (f"bert/encoder/layer_{n}" for n in range(config["num_hidden_layers"])):
        names = ("self/query", "self/key", "self/value", "output/dense")
        kernels |= {f"{layer}/attention/{name}": (h, h) for name in names}
        kernels |= {f"{layer}/intermediate/dense": (h, i), f"{layer}/output/dense": (i, h)}
        norms += [f"{layer}/attention/output", f"{layer}/output"]
    rows = {"word": v, "token_type": config["type_vocab_size"], "position": config["max_position_embeddings"]}
    shapes = {f"bert/embeddings/{table}_embeddings": (n, h) for table, n in rows.items()}
    prefix, n = {"squad": ("cls/squad/", 2), "pretraining": ("cls/seq_relationship/", 2)}.get(task, ("", num_labels))
    if task:
        shapes |= {f"{prefix}output_weights": (n, h), f"{prefix}output_bias": (n,)}
    if task == "pretraining":
        kernels["cls/predictions/transform/dense"], shapes["cls/predictions/output_bias"] = (h, h), (v,)
        norms.append("cls/predictions/transform")
    shapes |= {f"{scope}/kernel": shape for scope, shape in kernels.items()}
    shapes |= {f"{scope}/bias": shape[1:] for scope, shape in kernels.items()}
    return shapes | {f"{scope}/LayerNorm/{name}": (h,) for scope in norms for name in ("beta", "gamma")}


def random_weights(shapes: dict, seed: int, scale: float = 0.3) -> dict:
    """Return random weights that are never 0 or 1, so that a forgotten bias or scale is noticed."""
    rng = np.random.default_rng(seed)
    return {name: rng.normal(name.endswith("gamma"), scale, shape) for name, shape in shapes.items()}


def _dense(weights, scope, x):
    kernel = weights[f"{scope}/kernel"]

    def back(dy, grads):
        grads[f"{scope}/kernel"] += x.reshape(-1, x.shape[-1]).T @ dy.reshape(-1, dy.shape[-1])
        grads[f"{scope}/bias"] += dy.reshape(-1, dy.shape[-1]).sum(0)
        return dy @ kernel.T

    return x @ kernel + weights[f"{scope}/bias"], back


def _layer_norm(weights, scope, x, epsilon=1e-12):
    gamma, beta = weights[f"{scope}/LayerNorm/gamma"], weights[f"{scope}/LayerNorm/beta"]
    inverse = 1 / np.sqrt(x.var(-1, keepdims=True) + epsilon)  # biased variance
    normal = (x - x.mean(-1, keepdims=True)) * inverse

    def back(dy, grads):
        grads[f"{scope}/LayerNorm/gamma"] += (dy * normal).reshape(-1, len(gamma)).sum(0)
        grads[f"{scope}/LayerNorm/beta"] += dy.reshape(-1, len(beta)).sum(0)
        d = dy * gamma
        return inverse * (d - d.mean(-1, keepdims=True) - normal * (d * normal).mean(-1, keepdims=True))

    return normal * gamma + beta, back


def activate(x: np.ndarray, hidden_act: str | None, gelu: str = "tanh"):
    """Return hidden_act(x) and its derivative at x.

    Args:
        x: input.
        hidden_act: value in the config; None is linear.
        gelu: "tanh" (the original since 2019-02-07) or "erf".
    """
    function = (hidden_act or "linear").lower()
    if function == "linear":
        return x, np.ones_like(x)
    if function == "relu":
        return np.maximum(x, 0), (x > 0).astype(x.dtype)
    if function == "tanh":
        return np.tanh(x), 1 - np.tanh(x) ** 2
    if function != "gelu":
        raise ValueError(f"unknown hidden_act {hidden_act!r}")
    if gelu == "erf":
        cumulative = 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
        return x * cumulative, cumulative + x * np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    root = math.sqrt(2 / math.pi)
    t = np.tanh(root * (x + 0.044715 * x**3))
    return 0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t**2) * root * (1 + 3 * 0.044715 * x**2)


def _log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def _embeddings(weights, input_ids, segment_ids):
    types = weights["bert/embeddings/token_type_embeddings"]
    one_hot = (segment_ids[..., None] == np.arange(len(types))).astype(np.float64)  # an unknown type adds nothing
    positions = weights["bert/embeddings/position_embeddings"][: input_ids.shape[1]]
    summed = weights[WORD_EMBEDDINGS][input_ids] + one_hot @ types + positions
    output, back_norm = _layer_norm(weights, "bert/embeddings", summed)

    def back(dy, grads):
        rows = back_norm(dy, grads)  # [B, S, H]
        table = np.zeros_like(weights[WORD_EMBEDDINGS])
        np.add.at(table, input_ids, rows)
        grads[WORD_EMBEDDINGS] += table
        grads["bert/embeddings/token_type_embeddings"] += np.einsum("bst,bsh->th", one_hot, rows)
        table = np.zeros_like(weights["bert/embeddings/position_embeddings"])
        table[: input_ids.shape[1]] = rows.sum(0)
        grads["bert/embeddings/position_embeddings"] += table
        return rows

    return output, back


def _attention(weights, scope, heads, x, input_mask):
    batch, length, hidden = x.shape
    scale = 1 / math.sqrt(hidden // heads)

    def split(y):
        return y.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3)  # [B, N, S, D]

    def merge(y):
        return y.transpose(0, 2, 1, 3).reshape(batch, length, hidden)

    projected = [_dense(weights, f"{scope}/{name}", x) for name in ("query", "key", "value")]
    query, key, value = (split(y) for y, _ in projected)
    scores = scale * query @ key.swapaxes(-1, -2) - 10000 * (1 - input_mask[:, None, None, :].astype(np.float64))
    probs = np.exp(_log_softmax(scores))  # [B, N, S, S]

    def back(dy, grads):
        dy = split(dy)
        d_probs = dy @ value.swapaxes(-1, -2)
        d_scores = scale * probs * (d_probs - (d_probs * probs).sum(-1, keepdims=True))
        gradients = (d_scores @ key, d_scores.swapaxes(-1, -2) @ query, probs.swapaxes(-1, -2) @ dy)
        return sum(back_dense(merge(d), grads) for (_, back_dense), d in zip(projected, gradients, strict=True))

    return merge(probs @ value), probs, back


def _layer(config, weights, scope, x, input_mask, gelu):
    heads = config["num_attention_heads"]
    context, probs, back_context = _attention(weights, f"{scope}/attention/self", heads, x, input_mask)
    mixed, back_mixed = _dense(weights, f"{scope}/attention/output/dense", context)
    attended, back_attended = _layer_norm(weights, f"{scope}/attention/output", mixed + x)
    inner, back_inner = _dense(weights, f"{scope}/intermediate/dense", attended)
    active, slope = activate(inner, config["hidden_act"], gelu)
    outer, back_outer = _dense(weights, f"{scope}/output/dense", active)
    output, back_output = _layer_norm(weights, f"{scope}/output", outer + attended)

    def back(dy, grads):
        d_sum = back_output(dy, grads)
        d_sum = back_attended(d_sum + back_inner(back_outer(d_sum, grads) * slope, grads), grads)
        return d_sum + back_context(back_mixed(d_sum, grads), grads)

    return output, probs, back


def encode(config: dict, weights: dict, input_ids, input_mask, segment_ids, gelu: str = "tanh"):
    """Return the outputs of `forward`, and back(d_sequence [B,S,H], d_pooled [B,H], grads).

    `back` returns the gradient with respect to the summed embeddings [B, S, H]. These are also the
    rows of the word-embedding gradient before rows for equal tokens are added up.
    """
    weights = {name: np.asarray(value, np.float64) for name, value in weights.items()}
    x, back_embeddings = _embeddings(weights, np.asarray(input_ids), np.asarray(segment_ids))
    outputs = {"embedding_output": x, "encoder_outputs": [], "attention_probs": []}
    backs = []
    for i in range(config["num_hidden_layers"]):
        x, probs, back_layer = _layer(config, weights, f"bert/encoder/layer_{i}", x, np.asarray(input_mask), gelu)
        outputs["encoder_outputs"].append(x)
        outputs["attention_probs"].append(probs)
        backs.append(back_layer)
    pooled, back_pooler = _dense(weights, "bert/pooler/dense", x[:, 0])
    outputs |= {"sequence_output": x, "pooled_output": np.tanh(pooled)}

    def back(d_sequence, d_pooled, grads):
        d = np.array(d_sequence, np.float64)
        if d_pooled is not None:
            d[:, 0] += back_pooler(d_pooled * (1 - outputs["pooled_output"] ** 2), grads)
        for back_layer in reversed(backs):
            d = back_layer(d, grads)
        return back_embeddings(d, grads)

    return outputs, back


def forward(config: dict, weights: dict, input_ids, input_mask, segment_ids, gelu: str = "tanh") -> dict:
    """Run the encoder without dropout on integer arrays [B, S].

    Returns:
        embedding_output [B,S,H], encoder_outputs (one [B,S,H] per layer), sequence_output [B,S,H]
        (the last layer's output), pooled_output [B,H], and attention_probs (one [B,N,S,S] per
        layer).
    """
    return encode(config, weights, input_ids, input_mask, segment_ids, gelu)[0]


def _cross_entropy(logits, labels, weights):
    """Return log-probabilities, negative log-likelihoods, and the gradient of their weighted sum."""
    log_probs = _log_softmax(logits)
    one_hot = np.asarray(labels)[..., None] == np.arange(logits.shape[-1])
    nll = -np.where(one_hot, log_probs, 0).sum(-1)
    return log_probs, nll, np.asarray(weights)[..., None] * (np.exp(log_probs) - one_hot)


def classifier(weights: dict, pooled_output, label_ids, prefix: str = "") -> dict:
    """Return logits, log_probs, probabilities [B,L], example_loss [B] and the mean loss.

    There is no dropout. `back(grads)` returns the gradient with respect to pooled_output. The
    head's weights are `<prefix>output_weights` [L,H] and `<prefix>output_bias` [L].
    """
    kernel = np.asarray(weights[f"{prefix}output_weights"], np.float64)
    logits = pooled_output @ kernel.T + weights[f"{prefix}output_bias"]
    labels = np.reshape(label_ids, -1)
    log_probs, nll, d_logits = _cross_entropy(logits, labels, np.full(len(labels), 1 / len(labels)))

    def back(grads):
        grads[f"{prefix}output_weights"] += d_logits.T @ pooled_output
        grads[f"{prefix}output_bias"] += d_logits.sum(0)
        return d_logits @ kernel

    result = {"logits": logits, "log_probs": log_probs, "probabilities": np.exp(log_probs)}
    return result | {"example_loss": nll, "loss": nll.mean(), "back": back}


def next_sentence(weights: dict, pooled_output, next_sentence_labels) -> dict:
    """Return the result of `classifier` for two classes: 0 is the true next sentence, 1 is random."""
    return classifier(weights, pooled_output, next_sentence_labels, prefix="cls/seq_relationship/")


def squad(weights: dict, sequence_output, start_positions=None, end_positions=None) -> dict:
    """Return start_logits and end_logits [B,S].

    With positions [B], also return the loss, which is the mean of both losses, and back(grads).
    """
    kernel = np.asarray(weights["cls/squad/output_weights"], np.float64)
    logits = np.moveaxis(sequence_output @ kernel.T + weights["cls/squad/output_bias"], -1, 0)  # [2, B, S]
    result = {"start_logits": logits[0], "end_logits": logits[1]}
    if start_positions is None:
        return result
    share = np.full(logits.shape[:2], 1 / (2 * logits.shape[1]))
    _, nll, d_logits = _cross_entropy(logits, np.stack([start_positions, end_positions]), share)

    def back(grads):
        grads["cls/squad/output_weights"] += np.einsum("cbs,bsh->ch", d_logits, sequence_output)
        grads["cls/squad/output_bias"] += d_logits.sum((1, 2))
        return np.einsum("cbs,ch->bsh", d_logits, kernel)

    return result | {"loss": (nll * share).sum(), "back": back}


def masked_lm(config: dict, weights: dict, sequence_output, positions, ids, label_weights, gelu: str = "tanh") -> dict:
    """Return log_probs [B,P,V], example_loss [B,P] and loss = sum(w * nll) / (sum(w) + 1e-5).

    `positions`, `ids` and `label_weights` are [B,P]. `back(grads)` returns the gradient with
    respect to sequence_output.
    """
    weights = {name: np.asarray(value, np.float64) for name, value in weights.items()}
    index = (np.arange(len(positions))[:, None], np.asarray(positions))
    dense, back_dense = _dense(weights, "cls/predictions/transform/dense", sequence_output[index])
    active, slope = activate(dense, config["hidden_act"], gelu)
    normal, back_norm = _layer_norm(weights, "cls/predictions/transform", active)
    table = weights[WORD_EMBEDDINGS]
    logits = normal @ table.T + weights["cls/predictions/output_bias"]
    label_weights = np.asarray(label_weights, np.float64)
    share = label_weights / (label_weights.sum() + 1e-5)
    log_probs, nll, d_logits = _cross_entropy(logits, ids, share)

    def back(grads):
        grads[WORD_EMBEDDINGS] += np.einsum("bpv,bph->vh", d_logits, normal)
        grads["cls/predictions/output_bias"] += d_logits.sum((0, 1))
        d_sequence = np.zeros_like(sequence_output)
        np.add.at(d_sequence, index, back_dense(back_norm(d_logits @ table, grads) * slope, grads))
        return d_sequence

    return {"log_probs": log_probs, "example_loss": nll, "loss": (nll * share).sum(), "back": back}


def loss_and_gradients(task: str, config: dict, weights: dict, batch: dict, gelu: str = "tanh"):
    """Return loss, {name: gradient} and global norm for a batch, without dropout.

    A variable that does not influence the loss has no gradient. The norm is the original's: rows of
    the word-embedding gradient count separately, before rows for equal tokens are added up. In
    pre-training the gradient is dense because of the tied output layer, so its rows are added up
    first.

    Args:
        task: "classification" (label_ids), "squad" (start_positions, end_positions) or
            "pretraining" (masked_lm_*, next_sentence_labels).
        config: values of bert_config.json.
        weights: weights by name.
        batch: inputs and labels.
        gelu: see `activate`.
    """
    outputs, back = encode(config, weights, *(batch[k] for k in ("input_ids", "input_mask", "segment_ids")), gelu)
    sequence, pooled, grads = outputs["sequence_output"], outputs["pooled_output"], collections.defaultdict(float)
    if task == "classification":
        head = classifier(weights, pooled, batch["label_ids"])
        loss, rows = head["loss"], back(np.zeros_like(sequence), head["back"](grads), grads)
    elif task == "squad":
        head = squad(weights, sequence, batch["start_positions"], batch["end_positions"])
        loss, rows = head["loss"], back(head["back"](grads), None, grads)
    elif task == "pretraining":
        labels = (batch[f"masked_lm_{k}"] for k in ("positions", "ids", "weights"))
        masked = masked_lm(config, weights, sequence, *labels, gelu)
        following = next_sentence(weights, pooled, batch["next_sentence_labels"])
        loss, rows = masked["loss"] + following["loss"], None
        back(masked["back"](grads), following["back"](grads), grads)
    else:
        raise ValueError(f"unknown task {task!r}")
    grads = dict(grads)
    return loss, grads, global_norm(grads if rows is None else grads | {WORD_EMBEDDINGS: rows})
