"""Training on the used vocabulary gives the same weights as training on the whole vocabulary."""

import types

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.heads.classification import BertTextClassifier
from bert_cli.heads.losses import cross_entropy
from bert_cli.model.encoder import WORDS
from bert_cli.model.layers import named_weights
from bert_cli.training.checkpoints import save_checkpoint
from bert_cli.training.compact_embeddings import CompactEmbeddings
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.saved_state import restore_training
from tests.configs import WITHOUT_DROPOUT, small_config
from tests.training_states import state_of

CONFIG = small_config(max_position_embeddings=6, **WITHOUT_DROPOUT)
USED = [3, 7, 8, 20, 29]
PEAK_RATE, STEPS, WARMUP = 0.1, 8, 3
RATES = [PEAK_RATE * step / WARMUP for step in range(WARMUP)] + [
    PEAK_RATE * (1 - step / STEPS) for step in range(WARMUP, STEPS)
]


def batch_of(step: int) -> dict:
    """Return three rows with words in USED; the shortest row has one word."""
    rng = np.random.default_rng(step)
    mask = (np.arange(6) < np.array([6, 1, 4])[:, None]).astype(np.int32)
    words = rng.choice(USED, mask.shape).astype(np.int32) * mask
    return {"input_word_ids": words, "input_mask": mask, "input_type_ids": 0 * mask}


def start(compact: bool, seed=1):
    """Return a run before its first step."""
    model = BertTextClassifier(CONFIG, 3, seed=seed)
    model.head_dropout = 0.0
    variables = named_weights(model)
    words = CompactEmbeddings(model.encoder, np.array([USED, USED[::-1]], np.int32)) if compact else None
    trained = variables | {WORDS: words.table} if compact else variables
    optimizer = AdamWeightDecay(trained, TrainingHyperparameters(STEPS, WARMUP, PEAK_RATE, 1, 0))
    return types.SimpleNamespace(model=model, variables=variables, words=words, optimizer=optimizer)


def train(run, first: int, stop: int) -> None:
    for step in range(first, stop):
        batch = batch_of(step)
        if run.words:
            batch["input_word_ids"] = run.words.compact_ids(batch["input_word_ids"])
        with tf.GradientTape() as tape:
            logits = run.model(batch, training=True, seed=np.zeros(2, np.int32), packed=True)
            loss = tf.reduce_mean(cross_entropy(np.array([0, 1, 2]), logits))
        weights = run.optimizer.weights
        run.optimizer.apply(dict(zip(weights, tape.gradient(loss, list(weights.values())), strict=True)))


def tensors_of(run) -> dict:
    return state_of(run.variables, run.optimizer, run.words)


@pytest.fixture(scope="module")
def initial():
    return start(compact=False).variables[WORDS].numpy()


@pytest.fixture(scope="module")
def whole_run():
    """Return the middle and final tensors of a run on all words."""
    run = start(compact=False)
    train(run, 0, 4)
    middle = tensors_of(run)
    train(run, 4, STEPS)
    return middle, tensors_of(run)


@pytest.fixture(scope="module")
def compact_run():
    """Return an open run on the used words, with its middle and final tensors."""
    run = start(compact=True)
    train(run, 0, 4)
    middle = tensors_of(run)
    train(run, 4, STEPS)
    return run, middle, tensors_of(run)


def test_rows_of_the_compact_table(initial):
    words = start(compact=True).words
    assert words.used.tolist() == [0, *USED]
    assert words.compact_ids(np.array([[29, 3], [0, 20]])).tolist() == [[5, 1], [0, 4]]
    assert words.compact_ids(np.array([7], np.int32)).dtype == np.int32
    np.testing.assert_array_equal(words.table, initial[[0, *USED]])


def test_weights_and_moments_equal_those_on_all_words(whole_run, compact_run):
    _, middle, last = compact_run
    for actual, expected in zip((middle, last), whole_run, strict=True):
        assert actual.keys() == expected.keys()
        assert {f"{WORDS}/adam_m", f"{WORDS}/adam_v", "global_step"} < actual.keys()
        for name, value in expected.items():
            assert actual[name].shape == value.shape, name
            np.testing.assert_allclose(actual[name], value, rtol=0, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("index", [0, 1])
def test_unused_rows_decay_and_have_no_moments(initial, compact_run, index):
    tensors = compact_run[1 + index]
    steps = (4, STEPS)[index]
    unused = np.setdiff1d(np.arange(30), [0, *USED])
    factor = np.prod([1 - 0.01 * rate for rate in RATES[:steps]])
    assert factor < 0.9995
    np.testing.assert_allclose(tensors[WORDS][unused], initial[unused] * factor, rtol=1e-6)
    for suffix in ("adam_m", "adam_v"):
        moments = tensors[f"{WORDS}/{suffix}"]
        assert not moments[unused].any()
        assert moments[USED].any(axis=1).all()


def test_saving_again_at_the_same_step_changes_nothing(compact_run):
    run, _, last = compact_run
    saved_again = tensors_of(run)
    for name in (WORDS, f"{WORDS}/adam_m", "output_weights"):
        assert np.array_equal(saved_again[name], last[name]), name


def test_expand(compact_run):
    words = compact_run[0].words
    rows = np.arange(12, dtype=np.float32).reshape(6, 2)
    full = words.expand(rows)
    assert full.shape == (30, 2)
    assert full.dtype == np.float32
    np.testing.assert_array_equal(full[[0, *USED]], rows)
    assert full.sum() == rows.sum()


@pytest.mark.parametrize(
    ("compact", "saved_by"),
    [(True, "part"), (True, "whole"), (False, "part"), pytest.param(False, "whole", marks=pytest.mark.slow)],
)
def test_resuming_from_a_checkpoint(whole_run, compact_run, tmp_path, compact, saved_by):
    """Each of the saving and the resuming run may use all words or only the used words."""
    middle = compact_run[1] if saved_by == "part" else whole_run[0]
    prefix = save_checkpoint(str(tmp_path), 4, middle, keep=1)
    run = start(compact, seed=2)
    assert restore_training(prefix, run.variables, run.optimizer, run.words) == 4
    train(run, 4, STEPS)
    expected = compact_run[2] if compact and saved_by == "part" else whole_run[1]
    for name, value in tensors_of(run).items():
        if compact and saved_by == "part":
            assert np.array_equal(value, expected[name]), name
        else:
            np.testing.assert_allclose(value, expected[name], rtol=0, atol=1e-6, err_msg=name)


def test_closing_restores_the_encoders_table(whole_run):
    run = start(compact=True)
    train(run, 0, 2)
    compact = batch_of(5) | {"input_word_ids": run.words.compact_ids(batch_of(5)["input_word_ids"])}
    before = run.model(compact)
    run.words.close(run.optimizer)
    np.testing.assert_array_equal(run.model(batch_of(5)), before)
    unused = batch_of(5) | {"input_word_ids": np.full((3, 6), 11, np.int32)}
    np.testing.assert_array_equal(run.model.encoder(unused)["embedding_output"].shape, (3, 6, 8))
