"""Names, shapes and initial values of weights."""

import dataclasses

import keras
import numpy as np
import numpy_bert
import pytest

from bert_cli.heads.classification import BertTextClassifier
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.heads.squad import BertSpanModel
from bert_cli.model.deferred_initialization import DeferredInitialization
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights

STDDEV = 0.1
HEAD_STDDEV = 0.02
# Truncating a normal distribution at two standard deviations multiplies its standard deviation by
# this factor.
NARROWER = 0.87962566

# Head variables and their standard deviation before truncation.
HEADS = {
    "classification": {"output_weights": HEAD_STDDEV},
    "squad": {"cls/squad/output_weights": HEAD_STDDEV},
    "pretraining": {"cls/seq_relationship/output_weights": STDDEV, "cls/predictions/transform/dense/kernel": STDDEV},
}


def build(task: str, config, seed: int):
    if task == "classification":
        return BertTextClassifier(config, 3, seed=seed)
    return {"pretraining": BertPretrainer, "squad": BertSpanModel, "": BertEncoder}[task](config, seed=seed)


@pytest.fixture(scope="module")
def wide_config(tiny_config):
    """Return a config with kernels large enough for statistics."""
    return tiny_config(
        vocab_size=400, hidden_size=48, intermediate_size=96, max_position_embeddings=64, initializer_range=STDDEV
    )


@pytest.mark.parametrize("task", ["", *HEADS])
def test_names_and_shapes_equal_the_originals(tiny_config, task):
    config = tiny_config(num_hidden_layers=3)
    variables = named_weights(build(task, config, 0))
    expected = numpy_bert.variable_shapes(dataclasses.asdict(config), task)
    assert {name: tuple(variable.shape) for name, variable in variables.items()} == expected
    assert {variable.dtype for variable in variables.values()} == {"float32"}


def test_base_model_has_206_variables(tiny_config):
    variables = named_weights(BertPretrainer(tiny_config(num_hidden_layers=12)))
    assert len(variables) == 206
    assert sum(name.startswith("bert/") for name in variables) == 199


@pytest.mark.parametrize("task", HEADS)
def test_initial_values(wide_config, task):
    for name, variable in named_weights(build(task, wide_config, 7)).items():
        values = variable.numpy()
        if name.endswith(("bias", "beta")):
            assert not values.any(), name
            continue
        if name.endswith("gamma"):
            assert (values == 1.0).all(), name
            continue
        stddev = STDDEV if name.startswith("bert/") else HEADS[task][name]
        assert np.abs(values).max() <= 2 * stddev * (1 + 1e-6), name
        sigma = 1 / (2 * values.size) ** 0.5  # standard error of the estimate, at most
        assert values.std() == pytest.approx(NARROWER * stddev, rel=4 * sigma), name
        assert values.mean() == pytest.approx(0.0, abs=4 * stddev / values.size**0.5), name
        if values.size > 2000:  # 0.3 % of the values are within 2 % of the limit
            assert np.abs(values).max() > 1.9 * stddev, name


def test_weights_depend_only_on_the_seed(tiny_config, values_of):
    config = tiny_config()
    keras.utils.set_random_seed(1)
    first = values_of(named_weights(BertEncoder(config, seed=5)))
    keras.utils.set_random_seed(2)
    BertSpanModel(config, seed=9)
    later = values_of(named_weights(BertPretrainer(config, seed=5)))
    deeper = values_of(named_weights(BertEncoder(tiny_config(num_hidden_layers=3), seed=5)))
    for name, value in first.items():
        assert np.array_equal(value, later[name]), name
        assert np.array_equal(value, deeper[name]), name


def test_other_seeds_and_other_names_give_other_values(tiny_config, values_of):
    config = tiny_config()
    first, second = (values_of(named_weights(BertTextClassifier(config, 3, seed=seed))) for seed in (0, 1))
    drawn = {name: value for name, value in first.items() if not name.endswith(("bias", "beta", "gamma"))}
    assert len(drawn) == 3 + 2 * 6 + 1 + 1
    for name, value in drawn.items():
        assert not np.isclose(value, second[name]).all(), name
    square = [value for value in drawn.values() if value.shape == (12, 12)]
    assert len({value.tobytes() for value in square}) == len(square) == 2 * 4 + 1


def test_weights_missing_in_a_checkpoint_have_their_usual_values(tiny_config):
    expected = {name: variable.numpy() for name, variable in named_weights(build("squad", tiny_config(), 3)).items()}
    deferred = DeferredInitialization()
    with deferred.deferring():
        variables = named_weights(build("squad", tiny_config(), 3))
    drawn = {name for name, value in expected.items() if value.std() > 0}
    assert all(not variables[name].numpy().any() for name in drawn)
    head = {"cls/squad/output_weights"}
    assert head < drawn
    deferred.initialize_except(variable for name, variable in variables.items() if name not in head)
    for name in drawn:
        assert np.array_equal(variables[name], expected[name] if name in head else np.zeros_like(expected[name])), name
    at_once = named_weights(build("squad", tiny_config(), 3))  # values are no longer delayed
    assert all(at_once[name].numpy().any() for name in head)
