"""Names for training state, and for weights of other formats."""

import pytest

from bert_cli.weights.variables import (
    find_google_name,
    has_moments,
    is_optimizer_state,
    is_training_state,
    weight_name_of_moment,
)


@pytest.mark.parametrize(
    ("name", "is_state", "is_moment"),
    [
        ("a/adam_m", True, True),
        ("a/adam_v", True, True),
        ("a/adam_v/unrounded", True, True),
        ("log_decay", True, True),
        ("global_step", True, False),
        ("loss_scale", True, False),
        ("bert/pooler/dense/bias", False, False),
    ],
)
def test_training_state(name, is_state, is_moment):
    assert is_training_state(name) is is_state
    assert is_optimizer_state(name) is is_moment


def test_moments_belong_to_weights():
    assert has_moments(["a", "a/adam_m"])
    assert not has_moments(["a", "log_decay"])
    assert [weight_name_of_moment(name) for name in ("a/adam_m", "a/adam_v", "a")] == ["a", "a", "a"]


def test_names_of_layer_0_apply_to_every_layer():
    table = {"bert.encoder.layer.0.output.bias": "bert/encoder/layer_0/output/bias", "pooler.bias": "bert/pooler/bias"}
    assert find_google_name("bert.encoder.layer.11.output.bias", table) == "bert/encoder/layer_11/output/bias"
    assert find_google_name("pooler.bias", table) == "bert/pooler/bias"
    assert find_google_name("bert.encoder.layer.1.other", table) is None
