"""Numerical results on this device, compared with Google's golden outputs and the NumPy reference.

    python -m benchmarks.gpu.numbers float32

Uses the GPU if TensorFlow finds one, else the CPU. Prints a JSON object: name -> {"found": …,
"limit": …} per comparison; `found` is the difference that must not exceed `limit`.
"""

import dataclasses
import json
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "reference"))

import numpy_bert  # noqa: E402  (found by the line above)

from bert_cli.runtime.tensorflow_setup import setup_tensorflow  # noqa: E402

setup_tensorflow()

import tensorflow as tf  # noqa: E402  (the process is to be set up first)

from bert_cli.base.spec import INPUTS  # noqa: E402
from bert_cli.heads.classification import BertTextClassifier  # noqa: E402
from bert_cli.heads.pretraining import BertPretrainer  # noqa: E402
from bert_cli.model.config import BertConfig  # noqa: E402
from bert_cli.model.config_files import read_config  # noqa: E402
from bert_cli.model.encoder import BertEncoder  # noqa: E402
from bert_cli.model.layers import named_weights  # noqa: E402
from bert_cli.training.optimizers.adamw import AdamWeightDecay  # noqa: E402
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters  # noqa: E402
from bert_cli.training.step import make_train_step  # noqa: E402
from bert_cli.training.strategy import make_strategy, use_exact_float32  # noqa: E402
from bert_cli.weights.checkpoint import Tf1Reader, load_weights  # noqa: E402

GOLDEN = ROOT / "tests" / "fixtures" / "golden"
_INPUT_KEYS = dict(zip(INPUTS, ("input_ids", "input_mask", "segment_ids"), strict=True))
# Tolerances by precision: encoder outputs, losses, trained weights relative to the tensor's largest
# value, and 1 - cosine to the reference. float32 as in the tests; bfloat16 has 8 bits, so a few
# roundings of 1/256.
_LIMITS = {"float32": (1e-5, 1e-5, 1e-4, 1e-9), "bfloat16": (0.1, 0.02, 0.1, 1e-3)}


def encoder_outputs(precision: str) -> float:
    """Return the largest difference between encoder outputs and golden outputs, padded and packed."""
    folder = GOLDEN / "encoder"
    model = BertPretrainer(read_config(str(folder / "bert_config.json")), compute_dtype=precision)
    load_weights(named_weights(model), Tf1Reader(str(folder / "bert_model.ckpt")))
    batch, expected = (dict(np.load(folder / f"{name}.npz")) for name in ("inputs", "outputs"))
    inputs = {name: batch[key] for name, key in _INPUT_KEYS.items()}
    is_token = batch["input_mask"] > 0
    largest = 0.0
    for packed in (False, True):
        outputs = model.encoder(inputs, packed=packed)
        for name in ("sequence_output", "pooled_output"):
            difference = np.abs(outputs[name].numpy() - expected[name])
            largest = max(largest, float((difference[is_token] if difference.ndim > 2 else difference).max()))
    return largest


def training_steps(precision: str, strategy: tf.distribute.Strategy) -> tuple[float, float]:
    """Return the largest differences between losses and trained weights and the golden training's."""
    folder = GOLDEN / "training" / "classification"
    trajectory = json.loads((folder / "trajectory.json").read_text(encoding="utf-8"))
    arrays = dict(np.load(folder / "batch.npz"))
    count = len(arrays["label_ids"])
    with strategy.scope():
        model = BertTextClassifier(read_config(str(folder / "bert_config.json")), 3, compute_dtype=precision)
        model.head_dropout = 0.0  # Google's code was run without dropout
        weights = named_weights(model)
        load_weights(weights, Tf1Reader(str(folder / "bert_model.ckpt")))
        updates = TrainingHyperparameters(
            trajectory["num_train_steps"], trajectory["num_warmup_steps"], trajectory["init_lr"], count, 1
        )
        optimizer = AdamWeightDecay(dict(weights), updates, {})
    batch = {name: tf.constant(arrays[key]) for name, key in _INPUT_KEYS.items()}
    batch["label_ids"] = tf.constant(arrays["label_ids"])

    def loss_fn(rows, seed):
        losses, shares = model.loss_terms(rows, seed, True, count)
        return tf.reduce_sum(losses * shares)

    step = make_train_step(strategy, loss_fn, optimizer, seed=1, loss_scale=None, signature=None)
    losses = [abs(float(step(batch)[0]) - expected["loss"]) for expected in trajectory["steps"]]
    final = np.load(folder / "final.npz")
    trained = [
        float(np.abs(weights[name].numpy() - final[name]).max() / (np.abs(final[name]).max() + 0.1))
        for name in final.files
        if name in weights
    ]
    return max(losses), max(trained)


def oracle_vectors(precision: str) -> float:
    """Return the largest 1 - cosine between mean vectors and the NumPy reference in float64.

    Weights and tokens are random.
    """
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "gelu": "erf"}
    config = BertConfig(
        vocab_size=1000, hidden_size=128, num_hidden_layers=4, num_attention_heads=4, intermediate_size=512, **rates
    )
    plain = dataclasses.asdict(config)
    weights = numpy_bert.random_weights(numpy_bert.variable_shapes(plain), seed=3, scale=0.1)
    model = BertEncoder(config, compute_dtype=precision)
    for name, variable in named_weights(model).items():
        variable.assign(weights[name])
    rng = np.random.default_rng(4)
    mask = (np.arange(96) < rng.integers(5, 97, 32)[:, None]).astype(np.int32)
    words, types = (rng.integers(0, limit, mask.shape, dtype=np.int32) * mask for limit in (1000, 2))
    inputs = dict(zip(INPUTS, (words, mask, types), strict=True))
    actual = model(inputs, packed=True)["sequence_output"].numpy().astype(np.float64)
    # Round to float32, which the model's weights are.
    rounded = {name: value.astype(np.float32).astype(np.float64) for name, value in weights.items()}
    expected = numpy_bert.forward(plain, rounded, words, mask, types, gelu="erf")["sequence_output"]
    means = [(states * mask[..., None]).sum(axis=1) for states in (actual, expected)]
    actual, expected = (mean / np.linalg.norm(mean, axis=1, keepdims=True) for mean in means)
    return float((1 - (actual * expected).sum(axis=1)).max())


def main(precision: str) -> None:
    strategy = make_strategy("one_device", use_tpu=False)
    use_exact_float32(precision)
    output_tolerance, loss_tolerance, weight_tolerance, cosine_tolerance = _LIMITS[precision]
    with strategy.scope():
        outputs, cosine = encoder_outputs(precision), oracle_vectors(precision)
    loss, trained = training_steps(precision, strategy)
    compared = {
        "encoder, largest difference from the golden outputs": (outputs, output_tolerance),
        "12 training steps, largest difference of a loss from the golden ones": (loss, loss_tolerance),
        "12 training steps, largest relative difference of a weight": (trained, weight_tolerance),
        "mean vectors, 1 - cosine to the NumPy oracle": (cosine, cosine_tolerance),
    }
    print(json.dumps({name: {"found": difference, "limit": limit} for name, (difference, limit) in compared.items()}))


if __name__ == "__main__":
    main(sys.argv[1])
