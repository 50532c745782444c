"""A tagger's training step and log-probabilities compared with the NumPy BERT and optimizer."""

import collections
import dataclasses

import numpy as np
import numpy_bert
import numpy_optimizer
import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import TAGGER, HeadSpec
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.tagging import TaggingFeatures
from bert_cli.heads.tagging import BertTagger
from bert_cli.inference.engine import FineTunedNetwork
from bert_cli.inference.rows import Predictor, load_trained
from bert_cli.inference.tensorflow import TensorFlowEngine
from bert_cli.model.config import BertConfig
from bert_cli.predicting.tagger import predict_windows
from bert_cli.settings.devices import Devices
from bert_cli.settings.training import Saving
from bert_cli.training.optimizers.hyperparameters import FROZEN_ENCODER, TrainingHyperparameters, rate_factors
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from bert_cli.weights.path import find_checkpoint
from tests.snapshots import raises
from tests.train_rows import train_rows

CONFIG = BertConfig(
    vocab_size=23,
    hidden_size=12,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=17,
    max_position_embeddings=9,
    type_vocab_size=2,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
LENGTHS = np.array([9, 4, 3, 6])
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])
RATE = 0.01


@pytest.fixture(scope="module")
def features() -> TaggingFeatures:
    """Four windows of random tokens; their first and last tokens and some others have no label."""
    rng = np.random.default_rng(4)
    label_ids = rng.integers(-1, 5, OFFSETS[-1], dtype=np.int32)
    label_ids[OFFSETS[:-1]] = label_ids[OFFSETS[1:] - 1] = -1
    label_ids[OFFSETS[:-1] + 1] = 2
    token_ids = rng.integers(1, 20, OFFSETS[-1], dtype=np.int32)
    sequences = RaggedFeatures(token_ids, np.zeros(OFFSETS[-1], np.int8), OFFSETS)
    return TaggingFeatures(sequences, label_ids, label_ids, np.arange(4, dtype=np.int32), LENGTHS)


def bare_engine(layers) -> TensorFlowEngine:
    return TensorFlowEngine(
        FineTunedNetwork(HeadSpec(TAGGER, 5, layers=layers), "a model that bert-tag trained"),
        lambda precision: BertTagger(CONFIG, 5, layers, compute_dtype=precision),
        Devices(precision="float32"),
        9,
        4,
    )


def make_engine(layers) -> tuple[TensorFlowEngine, dict]:
    """Return an engine with random nonzero weights and without dropout, and the weights in float64."""
    engine = bare_engine(layers)
    engine.model.head_dropout = 0.0
    shapes = numpy_bert.variable_shapes(dataclasses.asdict(CONFIG), "classification", 5)
    shapes["output_weights"] = (5, 12 * len(layers))
    weights = {name: v.astype(np.float32) for name, v in numpy_bert.random_weights(shapes, seed=7).items()}
    assert engine.variables.keys() == weights.keys()
    for name, variable in engine.variables.items():
        variable.assign(weights[name])
    return engine, {name: value.astype(np.float64) for name, value in weights.items()}


def oracle(weights, features, layers):
    """Return states [4, 9, W], the head's result, labeled positions, and the function `back`."""
    padded = features.sequences.pad(np.arange(4), 9)
    inputs = (padded[name] for name in ("input_word_ids", "input_mask", "input_type_ids"))
    outputs, back = numpy_bert.encode(dataclasses.asdict(CONFIG), weights, *inputs, gelu=CONFIG.gelu)
    first, second = outputs["encoder_outputs"]
    named = {"embedding": outputs["embedding_output"], 0: first, 1: second, -2: first, -1: second}
    states = np.concatenate([named[layer] for layer in layers], axis=-1)
    labels = np.full((4, 9), -1)
    labels[padded["input_mask"] > 0] = features.label_ids
    chosen = labels >= 0
    return states, numpy_bert.classifier(weights, states[chosen], labels[chosen]), chosen, back


@pytest.mark.parametrize("layers", [(-1, 0), ("embedding", 1)])
def test_log_probabilities_of_two_layers(features, layers):
    engine, weights = make_engine(layers)
    states = oracle(weights, features, layers)[0]
    logits = states @ weights["output_weights"].T + weights["output_bias"]
    expected = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    for batch_size in (1, 4):
        actual = dict(predict_windows(Predictor(engine, 9), features, batch_size, "tagging"))
        assert actual.keys() == {0, 1, 2, 3}
        for window, length in enumerate(LENGTHS):
            np.testing.assert_allclose(actual[window][:length], expected[window, :length], atol=2e-5, rtol=0)


@pytest.mark.parametrize(
    ("frozen", "packed"),
    [
        (False, True),
        pytest.param(False, False, marks=pytest.mark.slow),
        (True, True),
        pytest.param(True, False, marks=pytest.mark.slow),
    ],
)
def test_one_step_of_training(frozen, packed, features, tmp_path):
    """The loss is the mean over labeled word pieces in all windows; the pooler is not trained.

    If the encoder is frozen, only the head is trained.
    """
    engine, weights = make_engine(layers=(-1,))
    engine.packed = packed  # it is False on a TPU
    before = {name: value.copy() for name, value in weights.items()}
    states, head, chosen, back = oracle(weights, features, (-1,))
    gradients = collections.defaultdict(float)
    d_states = np.zeros_like(states)
    d_states[chosen] = head["back"](gradients)
    if frozen:
        norm = numpy_optimizer.global_norm(gradients)
    else:
        rows = back(d_states, None, gradients)
        norm = numpy_optimizer.global_norm(gradients | {numpy_bert.WORD_EMBEDDINGS: rows})
    updates = TrainingHyperparameters(steps=1, warmup_steps=0, learning_rate=RATE, batch_size=4, random_seed=12345)
    factors = rate_factors(engine.variables, FROZEN_ENCODER if frozen else {})
    report = train_rows(engine, features, updates, Saving(), str(tmp_path), None, factors)
    np.testing.assert_allclose(report.first_loss, head["loss"], rtol=1e-5)

    slots = {name: (np.zeros_like(weights[name]), np.zeros_like(weights[name])) for name in gradients}
    numpy_optimizer.train_step(weights, slots, gradients, norm, RATE)
    for name, variable in engine.variables.items():
        changed = np.abs(variable.numpy() - before[name]).max() > 0
        assert changed == (name in gradients), name
        # If a gradient is almost zero, its sign and so Adam's first step are random.
        away = np.abs(variable.numpy() - weights[name]) > 1e-4
        assert away.mean() < 0.01, name


def test_a_checkpoint_without_pooler_is_a_tagger(tmp_path, features):
    """Hugging Face's token classifiers have no pooler."""
    engine, weights = make_engine(layers=(-1,))
    expected = dict(predict_windows(Predictor(engine, 9), features, 4, "tagging"))
    tensors = {name: v.astype(np.float32) for name, v in weights.items() if not name.startswith("bert/pooler/")}
    write_tf1(str(tmp_path / "model.ckpt-7"), tensors | {"global_step": np.int64(7)})
    second_engine = bare_engine((-1,))
    assert load_trained(second_engine, find_checkpoint(str(tmp_path / "model.ckpt-7"))) == 7
    actual = dict(predict_windows(Predictor(second_engine, 9), features, 4, "tagging"))
    for window, values in expected.items():
        np.testing.assert_array_equal(actual[window], values)


def test_checkpoint_without_classifier_is_refused(tmp_path):
    engine, weights = make_engine(layers=(-1,))
    tensors = {name: v.astype(np.float32) for name, v in weights.items() if not name.startswith("output_")}
    write_tf1(str(tmp_path / "bert_model.ckpt"), tensors)
    with raises(InputError):
        load_trained(engine, find_checkpoint(str(tmp_path / "bert_model.ckpt")))
