"""One compiled training step on toy weights: results, seeds, and the loss scale for float16."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.training.loop import run_steps
from bert_cli.training.loss_scale import LossScale
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.step import make_train_step
from tests.train_rows import Called
from tests.training_states import moments_of

PEAK_RATE = 0.25


@pytest.fixture(scope="module")
def strategy():
    return tf.distribute.OneDeviceStrategy("/cpu:0")


@pytest.fixture
def toy(strategy):
    """Return a function that makes a step and its optimizer, for the weights table [5, 2] and bias [2]."""

    def make(loss_fn=None, seed=3, loss_scale=None, signature=None):
        def loss_of_table(batch, seed):
            rows = tf.gather(weights["table"], batch["words"])  # [T, 2]
            return tf.reduce_sum(rows * batch["gradient"]) + tf.reduce_sum(weights["bias"] * batch["gradient"][0])

        with strategy.scope():
            weights = {
                "table": tf.Variable(np.arange(10, dtype=np.float32).reshape(5, 2)),
                "bias": tf.Variable([1.0, -1.0]),
            }
            optimizer = AdamWeightDecay(weights, TrainingHyperparameters(20, 0, PEAK_RATE, 1, 0))
        chosen = (lambda batch, seed: loss_fn(weights, batch, seed)) if loss_fn else loss_of_table
        return make_train_step(strategy, chosen, optimizer, seed, loss_scale, signature), optimizer

    return make


def batch_of(gradient: float) -> dict:
    """Return a batch with the words 1, 1 and 3; each word and the bias have the gradient [g, 2g]."""
    return {"words": tf.constant([1, 1, 3]), "gradient": gradient * tf.constant([[1.0, 2.0]] * 3)}


def weights_of(optimizer: AdamWeightDecay) -> dict:
    return {name: weight.numpy() for name, weight in optimizer.weights.items()}


def test_loss_rate_and_step_count(toy):
    step, optimizer = toy()
    loss, rate = step(batch_of(0.1))
    assert float(loss) == pytest.approx(0.1 * (2 * (2 + 2 * 3) + (6 + 2 * 7) + (1 - 2)))
    assert float(rate) == PEAK_RATE
    assert optimizer.step.numpy() == 1
    assert float(step(batch_of(0.1))[1]) == pytest.approx(PEAK_RATE * 19 / 20)


def test_rows_of_a_word_enter_the_norm_separately(toy):
    step, optimizer = toy()
    step(batch_of(1.0))
    norm = (3 * 5 + 5) ** 0.5
    np.testing.assert_allclose(moments_of(optimizer)["bias/adam_m"], 0.1 * np.array([1.0, 2.0]) / norm, rtol=1e-6)
    table = moments_of(optimizer)["table/adam_m"]
    np.testing.assert_allclose(table[1], 0.2 * np.array([1.0, 2.0]) / norm, rtol=1e-6)
    assert not table[[0, 2, 4]].any()


def list_seeds(step, count=4) -> list:
    """Return the seeds of successive steps; the loss function must return them."""
    return [tuple(int(float(step({"part": tf.constant(index)})[0])) for index in (0, 1)) for _ in range(count)]


def seed_as_loss(weights, batch, seed):
    return tf.cast(seed[batch["part"]], tf.float32) + 0.0 * (
        tf.reduce_sum(weights["table"]) + tf.reduce_sum(weights["bias"])
    )


def test_steps_have_different_seeds_that_a_resumed_run_repeats(toy):
    step, optimizer = toy(seed_as_loss, seed=3)
    moments = moments_of(optimizer)
    first = list_seeds(step)
    optimizer.restore(moments, 4)  # after 4 updates: each pair of seeds needs two
    assert list_seeds(step, 2) == first[2:]
    assert {run_seed for run_seed, _ in first} == {3}
    step_seeds = [step_seed for _, step_seed in first]
    assert min(np.diff(step_seeds)) >= 1024  # each dropout in the model adds its number


def test_another_run_seed_gives_other_step_seeds(toy):
    assert list_seeds(toy(seed_as_loss, seed=3)[0], 1) != list_seeds(toy(seed_as_loss, seed=4)[0], 1)


def test_new_length_causes_no_new_trace(toy):
    traces = []

    def loss_fn(weights, batch, seed):
        traces.append(1)
        return tf.reduce_sum(weights["bias"]) * tf.cast(tf.size(batch["words"]), tf.float32) + tf.reduce_sum(
            weights["table"]
        )

    step, _ = toy(loss_fn, signature={"words": tf.TensorSpec([None], tf.int32)})
    for length in (1, 2, 5, 3):
        step({"words": tf.zeros([length], tf.int32)})
    assert len(traces) == 1


def test_loss_scale_does_not_change_results(toy):
    plain, scaled = toy(), toy(loss_scale=LossScale())
    for gradient in (0.3, 5.0):
        results = [step(batch_of(gradient)) for step, _ in (plain, scaled)]
        np.testing.assert_allclose(results[0], results[1], rtol=1e-6)
    expected = weights_of(plain[1]) | moments_of(plain[1])
    for name, value in (weights_of(scaled[1]) | moments_of(scaled[1])).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-5, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_overflow_halves_the_scale_and_keeps_weights_finite(toy, bad):
    scale = LossScale()
    step, optimizer = toy(loss_scale=scale)
    step(batch_of(0.5))
    assert scale.current().numpy() == 2.0**15
    step(batch_of(bad))
    assert scale.current().numpy() == 2.0**14
    assert all(np.isfinite(value).all() for value in (weights_of(optimizer) | moments_of(optimizer)).values())
    step(batch_of(bad))
    assert scale.current().numpy() == 2.0**13
    step(batch_of(0.5))
    assert scale.current().numpy() == 2.0**13
    assert optimizer.step.numpy() == 4


def test_overflow_does_not_change_weights(toy):
    step, optimizer = toy(loss_scale=LossScale())
    for gradient in (0.5, 0.5):
        step(batch_of(gradient))
    before = weights_of(optimizer)
    step(batch_of(np.inf))
    for name, value in weights_of(optimizer).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)


def test_scale_stays_between_1_and_2_to_the_24th(toy):
    scale = LossScale()
    step, _ = toy(loss_scale=scale)
    scale.scale.assign(1.0)
    step(batch_of(np.inf))
    assert scale.current().numpy() == 1.0
    scale.scale.assign(2.0**24)
    scale.good_steps.assign(1999)
    step(batch_of(0.1))
    assert scale.current().numpy() == 2.0**24


def test_scale_doubles_after_2000_steps_without_overflow(toy):
    scale = LossScale()
    step, _ = toy(loss_scale=scale)
    scale.good_steps.assign(1998)
    actual = []
    for gradient in (0.1, 0.1, 0.1):
        step(batch_of(gradient))
        actual.append(float(scale.current()))
    assert actual == [2.0**15, 2.0**16, 2.0**16]
    scale.good_steps.assign(1998)
    step(batch_of(np.nan))  # an overflow resets the count
    step(batch_of(0.1))
    assert scale.current().numpy() == 2.0**15


def test_nan_gradient_is_not_saved(toy):
    """√x has an infinite slope at 0, so the last loss is finite, but the updated weights are not."""

    def loss_fn(weights, batch, seed):
        return tf.reduce_sum(weights["table"]) + tf.reduce_sum(tf.sqrt(batch["x"] * weights["bias"] ** 2))

    step, optimizer = toy(loss_fn)
    batches, saved = ({"x": tf.constant(value)} for value in (1.0, 0.0)), []
    with pytest.raises(InputError):
        run_steps(step, batches, 0, 2, [Called(1, lambda step: saved.append(weights_of(optimizer)))], 100)
    assert all(np.isfinite(value).all() for weights in saved for value in weights.values())
