"""Training on a frozen encoder's stored states equals training on tokens with a frozen encoder."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.head_types import FIRST, MEAN
from bert_cli.base.spec import INPUTS
from bert_cli.features.ragged import StatedRows
from bert_cli.heads.choice import BertChoice
from bert_cli.heads.classification import BertTextClassifier, BertWindowsClassifier
from bert_cli.heads.losses import DistillationLoss
from tests.configs import small_config

CONFIG = small_config(vocab_size=15, max_position_embeddings=6)
MASK = (np.arange(6) < np.array([6, 2, 4, 5])[:, None]).astype(np.int32)
WORDS = np.random.default_rng(1).integers(1, 15, MASK.shape).astype(np.int32) * MASK
SEED = tf.constant([3, 5])
CASES = {
    "single_label": (lambda: BertTextClassifier(CONFIG, 3), np.array([2, 0, 1, 1], np.int32)),
    "multi_label, mean": (
        lambda: BertTextClassifier(CONFIG, 2, problem_type="multi_label", text_input=MEAN),
        np.array([[1, 0], [0, 0], [1, 1], [0, 1]], np.float32),
    ),
    "choice": (lambda: BertChoice(CONFIG, 1, "multiple_choice", text_input=FIRST), np.array([1, 0], np.int32)),
    "distilled": (
        lambda: BertTextClassifier(CONFIG, 3, distillation=DistillationLoss(2.0, 0.5)),
        np.array([2, 0, 1, 1], np.int32),
    ),
}


class Rows:
    """Features with the rows of arrays."""

    def __init__(self, arrays: dict):
        self.arrays = arrays

    def __len__(self) -> int:
        return len(self.arrays["label_ids"])

    def batch(self, rows, width=None) -> dict:
        return {name: values[rows] for name, values in self.arrays.items()}


@pytest.mark.parametrize("name", CASES)
def test_loss_equals_the_loss_for_tokens(name):
    """The head has dropout, rows have another order, and one row is missing."""
    make, labels = CASES[name]
    model, shape = make(), (2, 2, 6) if name == "choice" else (4, 6)
    model.head_dropout = 0.5
    arrays = dict(zip(INPUTS, (values.reshape(shape) for values in (WORDS, MASK, 0 * MASK)), strict=True))
    arrays["label_ids"] = labels
    if name == "distilled":
        arrays |= {"teacher_logits": np.eye(4, 3, dtype=np.float32), "has_label": np.array([1, 0, 1, 1], np.float32)}
    features = Rows(arrays)
    states = model.states(dict(zip(INPUTS, (WORDS, MASK, 0 * MASK), strict=True)), packed=True).numpy()
    assert states.shape == (4, model.state_width)
    states = states.reshape(*shape[:-1], model.state_width)

    rows = np.array([1, 0] if name == "choice" else [3, 1, 0])
    batch = StatedRows(features, states).batch(rows)
    assert batch.keys() == {column.name for column in model.state_columns}
    for column in model.state_columns:
        assert (batch[column.name].dtype, batch[column.name].ndim) == (column.dtype, len(column.shape))
    actual, expected = (
        model.loss_terms(inputs, SEED, packed=True, batch_size=4, frozen=True)
        for inputs in (batch, features.batch(rows))
    )
    for actual_term, expected_term in zip(actual, expected, strict=True):
        np.testing.assert_allclose(actual_term, expected_term, rtol=1e-5)


def test_windows_have_no_state_columns():
    """The number of states would depend on the number of windows."""
    assert BertWindowsClassifier(CONFIG, 2).state_columns == ()
