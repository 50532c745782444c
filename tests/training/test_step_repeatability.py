"""Training a small classifier with dropout: equal seeds give bitwise equal weights, also in resumed runs."""

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
from bert_cli.training.step import make_train_step
from tests.configs import small_config
from tests.training_states import state_of

CONFIG = small_config(vocab_size=40)
STEPS, SAVED_AT = 6, 3
SIGNATURE = {
    name: tf.TensorSpec([None, None], tf.int32) for name in ("input_word_ids", "input_mask", "input_type_ids")
} | {"label_ids": tf.TensorSpec([None], tf.int32)}


def batch_of(step: int) -> dict:
    """Return four rows with different lengths and words below 20, some of them repeated."""
    rng = np.random.default_rng(step)
    lengths = rng.integers(1, 8, 4)
    mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int32)
    words = (rng.integers(1, 20, mask.shape) * mask).astype(np.int32)
    labels = rng.integers(0, 3, 4).astype(np.int32)
    return {"input_word_ids": words, "input_mask": mask, "input_type_ids": 0 * mask, "label_ids": labels}


class Training:
    """A classifier trained on the used vocabulary, with one compiled step for all runs in a test."""

    def __init__(self, seed: int):
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        with strategy.scope():
            self.model = BertTextClassifier(CONFIG, 3, seed=1)
            self.variables = named_weights(self.model)
            self.words = CompactEmbeddings(self.model.encoder, np.arange(20))
            trained = self.variables | {WORDS: self.words.table}
            self.optimizer = AdamWeightDecay(trained, TrainingHyperparameters(STEPS, 2, 0.05, 1, 0))
        self.first = self.tensors()
        self.step_fn = make_train_step(strategy, self._loss, self.optimizer, seed, None, SIGNATURE)

    def _loss(self, batch, seed):
        inputs = {name: batch[name] for name in batch if name != "label_ids"}
        logits = self.model(inputs, training=True, seed=seed, packed=True)
        return tf.reduce_mean(cross_entropy(batch["label_ids"], logits))

    def tensors(self, is_regular: bool = True) -> dict:
        return state_of(self.variables, self.optimizer, self.words, is_regular=is_regular)

    def run(self, start: int, stop: int) -> list[float]:
        losses = []
        for step in range(start, stop):
            batch = batch_of(step)
            batch["input_word_ids"] = self.words.compact_ids(batch["input_word_ids"])
            losses.append(float(self.step_fn({name: tf.constant(value) for name, value in batch.items()})[0]))
        return losses


@pytest.fixture(scope="module")
def training():
    return Training(seed=5)


def assert_identical(first: dict, second: dict) -> None:
    assert first.keys() == second.keys()
    for name in first:
        assert np.asarray(first[name]).tobytes() == np.asarray(second[name]).tobytes(), name


@pytest.fixture(scope="module")
def whole_run(training, tmp_path_factory):
    """Return the path of a checkpoint in the middle of a run, and the run's losses and final tensors."""
    folder = str(tmp_path_factory.mktemp("run"))
    start = save_checkpoint(folder, 0, training.first, keep=5)
    losses = training.run(0, SAVED_AT)
    middle = save_checkpoint(folder, SAVED_AT, training.tensors(), keep=5)
    losses += training.run(SAVED_AT, STEPS)
    return start, middle, losses, training.tensors()


def test_training_changes_all_weights_and_counts_steps(training, whole_run):
    *_, losses, last = whole_run
    assert last["global_step"] == STEPS
    assert np.isfinite(losses).all()
    for name in training.variables:
        assert not np.array_equal(last[name], training.first[name]), name
        assert np.abs(last[f"{name}/adam_v"]).max() > 0, name


def test_the_same_seed_gives_the_same_weights(training, whole_run):
    start, _, losses, last = whole_run
    assert restore_training(start, training.variables, training.optimizer, training.words) == 0
    assert training.run(0, SAVED_AT) == losses[:SAVED_AT]
    training.tensors()
    assert training.run(SAVED_AT, STEPS) == losses[SAVED_AT:]
    assert_identical(training.tensors(), last)


def test_restored_run_ends_like_the_uninterrupted_run(whole_run):
    """The restored run uses a new model with other initial weights, step function and compact table."""
    _, middle, losses, last = whole_run
    resumed = Training(seed=5)
    for variable in resumed.variables.values():
        variable.assign(np.full(variable.shape, 0.5, np.float32))
    assert restore_training(middle, resumed.variables, resumed.optimizer, resumed.words) == SAVED_AT
    assert resumed.run(SAVED_AT, STEPS) == losses[SAVED_AT:]
    assert_identical(resumed.tensors(), last)


@pytest.mark.parametrize("signalled", [[1], [2, 4, 5]])
def test_irregular_checkpoints_change_nothing(training, whole_run, signalled, tmp_path):
    """A signal causes such checkpoints. Rounding decay and moments a second time would change results."""
    start, _, losses, last = whole_run
    run = training
    restore_training(start, run.variables, run.optimizer, run.words)
    actual = []
    for step in range(STEPS):
        actual += run.run(step, step + 1)
        if step + 1 == SAVED_AT:
            run.tensors()
        if step + 1 in signalled:
            tensors = run.tensors(is_regular=False)
            assert run.optimizer.log_decay.numpy() == 0
            prefix = save_checkpoint(str(tmp_path), step + 1, tensors, keep=1)
            restore_training(prefix, run.variables, run.optimizer, run.words)
            assert (run.optimizer.log_decay.numpy() < 0) == (step > 0)  # the first step has rate 0
    assert actual == losses
    assert_identical(run.tensors(), last)


def test_second_rounding_would_be_detected(training, whole_run):
    start, _, _, last = whole_run
    run = training
    restore_training(start, run.variables, run.optimizer, run.words)
    for step in range(STEPS):
        run.run(step, step + 1)
        run.tensors()
    assert not np.array_equal(run.tensors()[WORDS], last[WORDS])
