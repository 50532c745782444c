"""Training on part of the vocabulary: the same weights as training on all of it."""

import types

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.heads.classification import BertClassifier
from bert_cli.heads.losses import cross_entropy
from bert_cli.model.encoder import WORDS
from bert_cli.model.layers import named_weights
from bert_cli.training.checkpoints import save_checkpoint
from bert_cli.training.compact_embeddings import CompactEmbeddings
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.saved_state import restore_training, training_tensors
from tests.configs import WITHOUT_DROPOUT, small_config

CONFIG = small_config(max_position_embeddings=6, **WITHOUT_DROPOUT)
USED = [3, 7, 8, 20, 29]
PEAK_RATE, STEPS, WARMUP = 0.1, 8, 3
RATES = [PEAK_RATE * step / WARMUP for step in range(WARMUP)] + [
    PEAK_RATE * (1 - step / STEPS) for step in range(WARMUP, STEPS)
]


def batch_of(step: int) -> dict:
    """Three rows of words in USED, the shortest of one word."""
    rng = np.random.default_rng(step)
    mask = (np.arange(6) < np.array([6, 1, 4])[:, None]).astype(np.int32)
    words = rng.choice(USED, mask.shape).astype(np.int32) * mask
    return {"input_word_ids": words, "input_mask": mask, "input_type_ids": 0 * mask}


def start(compact: bool, seed=1):
    """A run at its first step."""
    model = BertClassifier(CONFIG, 3, seed=seed)
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
    return training_tensors(run.variables, run.optimizer, run.words)


@pytest.fixture(scope="module")
def initial():
    return start(compact=False).variables[WORDS].numpy()


@pytest.fixture(scope="module")
def whole():
    """A run on all words, with its middle."""
    run = start(compact=False)
    train(run, 0, 4)
    middle = tensors_of(run)
    train(run, 4, STEPS)
    return middle, tensors_of(run)


@pytest.fixture(scope="module")
def part():
    """A run on the used words that saves in its middle, still open, with that middle and its end."""
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


def test_same_weights_and_moments_as_on_all_words(whole, part):
    _, middle, last = part
    for found, wanted in zip((middle, last), whole, strict=True):
        assert found.keys() == wanted.keys()
        assert {f"{WORDS}/adam_m", f"{WORDS}/adam_v", "global_step"} < found.keys()
        for name, value in wanted.items():
            assert found[name].shape == value.shape, name
            np.testing.assert_allclose(found[name], value, rtol=0, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("index", [0, 1])
def test_unused_rows_decay_and_have_no_moments(initial, part, index):
    tensors = part[1 + index]
    steps = (4, STEPS)[index]
    unused = np.setdiff1d(np.arange(30), [0, *USED])
    factor = np.prod([1 - 0.01 * rate for rate in RATES[:steps]])
    assert factor < 0.9995
    np.testing.assert_allclose(tensors[WORDS][unused], initial[unused] * factor, rtol=1e-6)
    for ending in ("adam_m", "adam_v"):
        moments = tensors[f"{WORDS}/{ending}"]
        assert not moments[unused].any()
        assert moments[USED].any(axis=1).all()


def test_saving_again_at_the_same_step_changes_nothing(part):
    run, _, last = part
    again = tensors_of(run)
    for name in (WORDS, f"{WORDS}/adam_m", "output_weights"):
        assert np.array_equal(again[name], last[name]), name


def test_expand(part):
    words = part[0].words
    rows = np.arange(12, dtype=np.float32).reshape(6, 2)
    full = words.expand(rows)
    assert full.shape == (30, 2)
    assert full.dtype == np.float32
    np.testing.assert_array_equal(full[[0, *USED]], rows)
    assert full.sum() == rows.sum()


@pytest.mark.parametrize("saved_by", ["part", "whole"])
@pytest.mark.parametrize("compact", [True, False])
def test_going_on_from_a_checkpoint(whole, part, tmp_path, compact, saved_by):
    """Whether or not the run that saved, or the one that goes on, trains on part of the words."""
    middle = part[1] if saved_by == "part" else whole[0]
    prefix = save_checkpoint(str(tmp_path), 4, middle, keep=1)
    run = start(compact, seed=2)
    assert restore_training(prefix, run.variables, run.optimizer, run.words) == 4
    train(run, 4, STEPS)
    wanted = part[2] if compact and saved_by == "part" else whole[1]
    for name, value in tensors_of(run).items():
        if compact and saved_by == "part":
            assert np.array_equal(value, wanted[name]), name
        else:
            np.testing.assert_allclose(value, wanted[name], rtol=0, atol=1e-6, err_msg=name)


def test_closing_gives_the_encoder_its_own_table_back(whole):
    run = start(compact=True)
    train(run, 0, 2)
    compact = batch_of(5) | {"input_word_ids": run.words.compact_ids(batch_of(5)["input_word_ids"])}
    before = run.model(compact)
    run.words.close(run.optimizer)
    np.testing.assert_array_equal(run.model(batch_of(5)), before)
    unused = batch_of(5) | {"input_word_ids": np.full((3, 6), 11, np.int32)}
    np.testing.assert_array_equal(run.model.encoder(unused)["embedding_output"].shape, (3, 6, 8))
