"""Script for test_strategy_replicas.py, in a separate process because two logical CPUs need a new TensorFlow.

It trains and applies a small classifier on one device and mirrored on two devices. The results are
written to the .npz file in its argument, with the names `one/…` and `two/…`.
"""

import sys

import numpy as np

from bert_cli.runtime.tensorflow_setup import setup_tensorflow

setup_tensorflow()

import tensorflow as tf  # noqa: E402 (only after the process has been set up)

from bert_cli.base.errors import InputError  # noqa: E402
from bert_cli.base.spec import encoder_inputs  # noqa: E402
from bert_cli.heads.choice import BertChoice  # noqa: E402
from bert_cli.heads.classification import BertTextClassifier  # noqa: E402
from bert_cli.heads.losses import cross_entropy  # noqa: E402
from bert_cli.heads.model import tensor_specs  # noqa: E402
from bert_cli.model.config import BertConfig  # noqa: E402
from bert_cli.model.layers import named_weights  # noqa: E402
from bert_cli.training.batch_distribution import (  # noqa: E402
    check_batch_size,
    compile_runner,
    distribute,
)
from bert_cli.training.loss_scale import LossScale  # noqa: E402
from bert_cli.training.optimizers.adamw import AdamWeightDecay  # noqa: E402
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters, layer_factors, rate_factors  # noqa: E402
from bert_cli.training.optimizers.lamb_nadam import Nadam  # noqa: E402
from bert_cli.training.step import make_train_step  # noqa: E402
from bert_cli.training.strategy import describe, is_chief, make_strategy  # noqa: E402
from tests.training_states import state_of  # noqa: E402

CONFIG = BertConfig(
    vocab_size=20,
    hidden_size=8,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=12,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
    max_position_embeddings=6,
    type_vocab_size=2,
    initializer_range=0.3,
)
BATCH = 6
# Makes the global norm exceed 1, so that clipping and the norm's definition matter.
STEEPNESS = 20.0
INPUTS = ("input_word_ids", "input_mask", "input_type_ids")


def batch_of(rows: np.ndarray, length: int = 6) -> dict:
    """Return a batch; row r has r % length + 1 words, many of them equal in all rows."""
    mask = (np.arange(length) < rows[:, None] % length + 1).astype(np.int32)
    words = ((rows[:, None] * np.arange(length)) % 5 + 1).astype(np.int32) * mask
    labels = (rows % 3).astype(np.int32)
    return dict(zip((*INPUTS, "label_ids"), (words, mask, 0 * mask, labels), strict=True))


def replica_values(strategy, variable) -> list:
    return [value.numpy() for value in strategy.experimental_local_results(variable)]


def train(
    strategy, optimizer_class=AdamWeightDecay, frozen_layers=None, accumulation_steps=1
) -> tuple[dict, BertTextClassifier]:
    """Make four updates of a classifier without dropout; return its checkpoint's tensors and more, and the model."""
    with strategy.scope():
        model = BertTextClassifier(CONFIG, 3, seed=1)
        model.head_dropout = 0.0
        variables = named_weights(model)
        factors = rate_factors(variables, layer_factors(1, 0.5, frozen_layers)) if frozen_layers is not None else {}
        optimizer = optimizer_class(variables, TrainingHyperparameters(10, 0, 1e-3, 1, 0), factors)

    def loss_fn(batch, seed):
        logits = model({name: batch[name] for name in INPUTS}, training=True, seed=seed, packed=True)
        return STEEPNESS * tf.reduce_sum(cross_entropy(batch["label_ids"], logits)) / BATCH

    step = make_train_step(strategy, loss_fn, optimizer, 3, None, None, accumulation_steps)
    results = [step(distribute(batch_of(np.arange(number, number + BATCH)), strategy)) for number in range(4)]
    tensors = state_of(variables, optimizer, None)
    tensors["losses"], tensors["rates"] = (np.array(values, np.float32) for values in zip(*results, strict=True))
    local = [replica_values(strategy, variable.value) for variable in variables.values()]
    tensors["replicas_differ"] = np.array(max(np.abs(values[0] - values[-1]).max() for values in local))
    return tensors, model


def controlled(strategy) -> dict:
    """Train with Nadam, frozen embeddings, a separate rate for the layer, and three accumulation steps."""
    tensors, _ = train(strategy, Nadam, 0, 3)
    return {f"controlled/{name}": value for name, value in tensors.items()}


def overflow(strategy) -> dict:
    """Make two updates with a loss scale; the second gradient is infinite only on the last device.

    The first loss is a sum over replicas, which includes the first number of each replica's seed.
    """
    with strategy.scope():
        weights = {"kernel": tf.Variable([0.5]), "bias": tf.Variable([0.0])}
        optimizer = AdamWeightDecay(weights, TrainingHyperparameters(10, 0, 0.1, 1, 0))
        scale = LossScale()

    def loss_fn(batch, seed):
        output = optimizer.weights["kernel"] * batch["x"] + optimizer.weights["bias"]
        return tf.cast(seed[0], tf.float32) + tf.reduce_sum(output - 0.5 * batch["x"])

    step = make_train_step(strategy, loss_fn, optimizer, 3, scale, None)
    seeds = float(step(distribute({"x": np.array([1.0, 2.0], np.float32)}, strategy))[0])
    step(distribute({"x": np.array([1.0, np.inf], np.float32)}, strategy))
    return {
        "seeds": seeds,
        "scales": replica_values(strategy, scale.scale),
        "weights": replica_values(strategy, optimizer.weights["kernel"])
        + replica_values(strategy, optimizer.weights["bias"]),
    }


def apply(strategy, model) -> dict:
    """Return the probabilities of 11 rows in groups of 3, 1 and 7, which two devices cannot share evenly."""
    order = np.random.default_rng(0).permutation(11)
    signature = {name: tf.TensorSpec([None, None], tf.int32) for name in INPUTS}
    run = compile_runner(strategy, lambda batch: {"probabilities": tf.nn.softmax(model(batch, packed=True))}, signature)
    results = np.zeros((11, 3), np.float32)
    for rows in np.split(order, [3, 4]):
        results[rows] = run({name: batch_of(rows)[name] for name in INPUTS})["probabilities"]
    return {"probabilities": results}


def choose(strategy) -> dict:
    """Return the loss of six examples with three choices each, and the probabilities of five examples."""
    with strategy.scope():
        model = BertChoice(CONFIG, 1, "multiple_choice", seed=1)
        model.head_dropout = 0.0

    def loss_fn(batch):
        losses, weights = model.loss_terms(batch, tf.constant([1, 2]), True, BATCH)
        return tf.reduce_sum(losses * weights)

    @tf.function(autograph=False)
    def loss_of(batch):
        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(loss_fn, args=(batch,)), axis=None)

    def choices(rows: np.ndarray) -> dict:
        """Return a batch with three sequences per row."""
        sequences = (3 * rows[:, None] + np.arange(3)).reshape(-1)
        batch = {name: values.reshape(-1, 3, 6) for name, values in batch_of(sequences).items() if name != "label_ids"}
        return batch | {"label_ids": (rows % 3).astype(np.int32)}

    run = compile_runner(
        strategy,
        lambda batch: {"probabilities": tf.nn.softmax(model(encoder_inputs(batch), packed=True))},
        tensor_specs(model.columns),
    )
    loss = loss_of(distribute(choices(np.arange(BATCH)), strategy)).numpy()
    return {"choice_loss": loss, "choices": run(choices(np.arange(5)))["probabilities"]}


def main(path: str) -> None:
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    actual = {}
    for name, strategy_name in (("one", "one_device"), ("two", "mirrored")):
        strategy = make_strategy(strategy_name, use_tpu=False)
        tensors, model = train(strategy)
        results = tensors | apply(strategy, model) | overflow(strategy) | choose(strategy) | controlled(strategy)
        results |= {"description": describe(strategy), "is_chief": is_chief(strategy)}
        actual |= {f"{name}/{key}": value for key, value in results.items()}
        try:
            check_batch_size(7, strategy, "train_batch_size")
            actual[f"{name}/batch_of_7"] = ""
        except InputError as error:
            actual[f"{name}/batch_of_7"] = str(error)
    np.savez(path, **actual)


if __name__ == "__main__":
    main(sys.argv[1])
