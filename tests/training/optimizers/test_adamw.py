"""Adam with weight decay: the original's states and schedule, decay, clipping, and resuming from a checkpoint."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_cli.tf_internals.variables import memory_of
from bert_cli.training.optimizers.adamw import AdamWeightDecay, global_norm
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.optimizers.schedule import Schedule
from tests.training_states import moments_of


@pytest.fixture(scope="module")
def golden(fixtures):
    return fixtures / "golden" / "training" / "optimizer"


@pytest.fixture(scope="module")
def trajectory(golden):
    return json.loads((golden / "trajectory.json").read_text())


def make_optimizer(values: dict, peak_rate=0.1, num_train_steps=10, num_warmup_steps=0) -> AdamWeightDecay:
    variables = {name: tf.Variable(np.asarray(value, np.float32)) for name, value in values.items()}
    return AdamWeightDecay(variables, TrainingHyperparameters(num_train_steps, num_warmup_steps, peak_rate, 1, 0))


def state_of(optimizer: AdamWeightDecay) -> dict:
    """Return the weights, and the moments as in a checkpoint."""
    return {name: weight.numpy() for name, weight in optimizer.weights.items()} | moments_of(optimizer)


def schedule_of(trajectory: dict) -> list:
    return [trajectory[key] for key in ("init_lr", "num_train_steps", "num_warmup_steps")]


def test_states_equal_the_originals(golden, trajectory):
    initial, gradients = dict(np.load(golden / "initial.npz")), np.load(golden / "gradients.npz")
    states, checked = np.load(golden / "states.npz"), 0
    optimizer = make_optimizer(initial, *schedule_of(trajectory))
    for step_values in trajectory["steps"]:
        prefix = f"step{step_values['step']}/"
        norm, rate = optimizer.apply({name: tf.constant(gradients[prefix + name]) for name in initial})
        assert float(norm) == pytest.approx(step_values["global_norm"], rel=1e-4)
        assert float(rate) == pytest.approx(step_values["learning_rate"], abs=1e-6 * trajectory["init_lr"])
        assert optimizer.step.numpy() == step_values["step"] + 1
        if f"after_{prefix}output_bias" not in states:
            continue
        for name, value in state_of(optimizer).items():
            expected = states[f"after_{prefix}{name}"]
            np.testing.assert_allclose(value, expected, rtol=0, atol=1e-5 * np.abs(expected).max(), err_msg=name)
            checked += 1
    assert checked == len(states.files) == 216


def test_learning_rates_equal_the_originals(golden):
    cases = json.loads((golden / "learning_rates.json").read_text())
    assert len(cases) == 7
    for case in cases:
        steps, expected = zip(*case["step_and_rate"], strict=True)
        rate, num_train_steps, num_warmup_steps = schedule_of(case)
        plan = TrainingHyperparameters(num_train_steps, num_warmup_steps, rate, 1, 0)
        actual = Schedule(plan).rate(tf.constant(steps, tf.int64))
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6 * case["init_lr"])


def test_names_decide_about_decay(trajectory):
    """Without gradient, only decay changes a weight, by a hundredth of the learning rate."""
    decays = trajectory["weight_decay_applies_to"]
    assert len(decays) == 18
    assert set(decays.values()) == {True, False}
    optimizer = make_optimizer({name: [2.0, -4.0] for name in decays}, peak_rate=0.5)
    optimizer.apply({name: tf.zeros(2) for name in decays})
    for name, weight in optimizer.weights.items():
        factor = 1 - 0.5 * 0.01 if decays[name] else 1.0
        np.testing.assert_allclose(weight, [2.0 * factor, -4.0 * factor], rtol=1e-7, err_msg=name)


def test_decay_uses_the_weight_before_the_update():
    """Compute one update by hand: w − rate·(m/(√v + 1e-6) + 0.01·w). The gradient's norm of 0.5 is not clipped."""
    optimizer = make_optimizer({"layer/kernel": [5.0, 1.0]}, peak_rate=0.2)
    norm, rate = optimizer.apply({"layer/kernel": tf.constant([0.3, -0.4])})
    assert (float(norm), float(rate)) == (pytest.approx(0.5), pytest.approx(0.2))
    expected = [
        5.0 - 0.2 * (0.03 / ((0.001 * 0.09) ** 0.5 + 1e-6) + 0.05),
        1.0 - 0.2 * (-0.04 / ((0.001 * 0.16) ** 0.5 + 1e-6) + 0.01),
    ]
    np.testing.assert_allclose(optimizer.weights["layer/kernel"], expected, rtol=1e-6)
    moments = moments_of(optimizer)
    np.testing.assert_allclose(moments["layer/kernel/adam_m"], [0.03, -0.04], rtol=1e-6)
    np.testing.assert_allclose(moments["layer/kernel/adam_v"], [0.001 * 0.09, 0.001 * 0.16], rtol=1e-6)


def slices(rows: list, indices: list, height: int) -> tf.IndexedSlices:
    return tf.IndexedSlices(tf.constant(rows, tf.float32), tf.constant(indices), tf.constant([height, len(rows[0])]))


def test_norm_counts_rows_of_a_word_separately():
    table = slices([[1.0, 2.0], [2.0, 0.0], [-1.0, -2.0]], [4, 0, 4], 5)
    assert float(global_norm([table, tf.constant([[3.0]])])) == pytest.approx((5 + 4 + 5 + 9) ** 0.5)
    assert float(global_norm([tf.convert_to_tensor(table)])) == pytest.approx(2.0)


def test_rows_are_clipped_by_that_norm_and_then_summed():
    table = slices([[3.0, 0.0], [0.0, 4.0], [1.0, 0.0]], [2, 0, 2], 4)
    optimizer = make_optimizer({"table": np.ones((4, 2))})
    norm, _ = optimizer.apply({"table": table})
    assert float(norm) == pytest.approx(26**0.5)
    expected = 0.1 * np.array([[0.0, 4.0], [0.0, 0.0], [4.0, 0.0], [0.0, 0.0]]) / 26**0.5
    np.testing.assert_allclose(moments_of(optimizer)["table/adam_m"], expected, rtol=1e-6)


def test_norm_argument_is_used():
    optimizer = make_optimizer({"bias": [0.0]})
    norm, _ = optimizer.apply({"bias": tf.constant([3.0])}, tf.constant(4.0))
    assert float(norm) == 4.0
    np.testing.assert_allclose(moments_of(optimizer)["bias/adam_m"], [0.1 * 3.0 / 4.0], rtol=1e-6)


def test_keras_variables_are_updated_in_place():
    variable = keras.Variable(np.ones(3, np.float32))
    updates = TrainingHyperparameters(10, 0, 0.1, 1, 0)
    AdamWeightDecay({"layer/bias": variable}, updates).apply({"layer/bias": tf.constant([0.1, 0.0, -0.1])})
    assert variable.numpy()[0] < 1.0 == variable.numpy()[1] < variable.numpy()[2]


# The last variable is wide, because rounding affects one number in a hundred thousand.
SHAPES = {
    "bert/word_embeddings": (7, 3),
    "bert/dense/kernel": (4, 4),
    "bert/dense/bias": (4,),
    "bert/wide": (1_000_000,),
}


def gradients_of(step: int) -> dict:
    rng = np.random.default_rng(step)
    gradients = {name: tf.constant(rng.standard_normal(shape, np.float32)) for name, shape in SHAPES.items()}
    gradients["bert/wide"] *= float(step < 4)  # later gradients must not hide small values
    rows = rng.normal(size=(5, 3)).tolist()
    return gradients | {"bert/word_embeddings": slices(rows, rng.integers(0, 7, 5).tolist(), 7)}


def test_restored_run_is_bitwise_equal_to_the_saving_run():
    initial = {name: np.random.default_rng(9).standard_normal(shape, np.float32) for name, shape in SHAPES.items()}
    saving = make_optimizer(initial, num_train_steps=8, num_warmup_steps=3)
    for step in range(4):
        saving.apply(gradients_of(step))
    saved = state_of(saving)
    restored = make_optimizer({name: saved[name] for name in SHAPES}, num_train_steps=8, num_warmup_steps=3)
    restored.restore(saved, 4)
    assert restored.step.numpy() == 4
    for step in range(4, 8):
        rates = [float(optimizer.apply(gradients_of(step))[1]) for optimizer in (saving, restored)]
        assert rates[0] == rates[1]
    expected = state_of(saving)
    for name, value in state_of(restored).items():
        assert value.dtype == np.float32
        assert np.array_equal(value, expected[name]), name


def test_saving_changes_a_run_only_by_rounding():
    initial = {name: np.random.default_rng(9).standard_normal(shape, np.float32) for name, shape in SHAPES.items()}
    without_saving, with_saving = make_optimizer(initial), make_optimizer(initial)
    for step in range(6):
        for optimizer in (without_saving, with_saving):
            optimizer.apply(gradients_of(step))
        moments_of(with_saving)
    expected = state_of(without_saving)
    for name, value in state_of(with_saving).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=1e-7, err_msg=name)


def test_saved_values_do_not_change_in_later_updates():
    optimizer = make_optimizer({"kernel": [[1.0, -2.0], [3.0, 0.5]]})
    gradients = {"kernel": tf.constant([[0.5, 0.1], [-0.2, 0.3]])}
    optimizer.apply(gradients)
    taken = [memory_of(variable) for variable in optimizer.variables()]
    before = [np.copy(values) for values in taken]
    optimizer.apply(gradients)
    for values, kept, variable in zip(taken, before, optimizer.variables(), strict=True):
        np.testing.assert_array_equal(values, kept)
        assert not np.array_equal(values, variable.numpy())
    with pytest.raises(ValueError, match="read-only"):
        taken[0][...] = 0.0
