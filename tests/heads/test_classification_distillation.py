"""A student's loss compared with NumPy: teacher logits, labels, and rows without label."""

import numpy as np
import pytest

from bert_cli.runtime.tensorflow_setup import setup_tensorflow

setup_tensorflow()
import tensorflow as tf  # noqa: E402

from bert_cli.base.spec import EXAMPLE_WEIGHT  # noqa: E402
from bert_cli.heads.classification import (  # noqa: E402
    BertTextClassifier,
    BertWindowsClassifier,
)
from bert_cli.heads.losses import FORMULAS, DistillationLoss  # noqa: E402
from bert_cli.problem_types.registry import problem_type  # noqa: E402

TEACHER = np.array([[2.0, 0.0, -1.0], [0.5, 0.5, 3.0]], np.float32)


def softmax(values):
    exponentials = np.exp(values - values.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def test_divergence_by_hand():
    """Compare with the formula: teacher 3 : 1 and student 1 : 1 give ¾ ln(¾ / ½) + ¼ ln(¼ / ½) at T = 1.

    At T = 2, the teacher's odds are √3.
    """
    teacher, student = tf.constant([[np.log(3.0), 0.0]], tf.float32), tf.constant([[5.0, 5.0]])
    expected = 0.75 * np.log(1.5) + 0.25 * np.log(0.5)
    np.testing.assert_allclose(FORMULAS["single_label"].divergence(teacher, student), [expected], rtol=1e-5)
    share = np.sqrt(3) / (1 + np.sqrt(3))
    expected = share * np.log(2 * share) + (1 - share) * np.log(2 * (1 - share))
    np.testing.assert_allclose(FORMULAS["single_label"].divergence(teacher / 2, student / 2), [expected], rtol=1e-5)
    # Multi-label: apply the formula to each label's two outcomes and average. For the second label,
    # both agree.
    teacher, student = tf.constant([[np.log(3.0), 1.0]], tf.float32), tf.constant([[0.0, 1.0]])
    expected = (0.75 * np.log(1.5) + 0.25 * np.log(0.5)) / 2
    np.testing.assert_allclose(FORMULAS["multi_label"].divergence(teacher, student), [expected], rtol=1e-5)


@pytest.mark.parametrize("example_weights", [None, np.array([1.5, 0.5], np.float32)])
@pytest.mark.parametrize("head_class", [BertTextClassifier, BertWindowsClassifier])
def test_loss(tiny_config, batch_of, head_class, example_weights):
    distillation = DistillationLoss(temperature=2.0, share=0.25)
    columns = () if example_weights is None else (EXAMPLE_WEIGHT,)
    model = head_class(tiny_config(), 3, distillation=distillation, loss_columns=columns, seed=1)
    model.head_dropout = 0.0
    inputs = batch_of([7, 5], 7)
    if head_class is BertWindowsClassifier:
        inputs = {name: values[:, None] for name, values in inputs.items()}
    logits = model(inputs).numpy()
    labels = {"label_ids": np.array([2, 0], np.int32), "has_label": np.array([1, 0], np.float32)}
    if columns:
        labels["example_weight"] = example_weights
    losses, weights = model.loss_terms(inputs | labels | {"teacher_logits": TEACHER}, tf.constant([1, 2]), True, 2)
    taught, learnt = softmax(TEACHER / 2), softmax(logits / 2)
    soft = (taught * np.log(taught / learnt)).sum(axis=1)
    hard = -np.log(softmax(logits)[0, 2])
    expected = np.array([0.25 * 4 * soft[0] + 0.75 * hard, 0.25 * 4 * soft[1]])
    np.testing.assert_allclose(losses, expected * example_weights if columns else expected, rtol=1e-4)
    assert weights.numpy().tolist() == [0.5, 0.5]
    assert {column.name for column in model.columns} == {*inputs, *labels, "teacher_logits"}
    assert not {"teacher_logits", "has_label"} & {column.name for column in model.problem_type.batch_columns}


def test_logits_of_probabilities():
    np.testing.assert_allclose(
        softmax(problem_type("single_label").decoder.logits(softmax(TEACHER))), softmax(TEACHER), rtol=1e-5
    )
    actual = problem_type("multi_label").decoder.logits(np.array([[0.75, 0.5, 0.0]], np.float32))
    np.testing.assert_allclose(actual[0, :2], [np.log(3.0), 0.0], atol=1e-6)
    assert np.isfinite(actual).all()
    assert np.isfinite(problem_type("single_label").decoder.logits(np.array([[1.0, 0.0]], np.float32))).all()
