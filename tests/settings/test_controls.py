"""Values that control the training."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import MEAN
from bert_cli.model.lora import Lora
from bert_cli.settings.controls import (
    Dropout,
    HeadInput,
    LayerRates,
    Loss,
    check_class_weights,
    non_default_flags,
    parse_class_weights,
    read_targets,
)
from tests.snapshots import raises


def test_weights_by_label():
    assert parse_class_weights("0=1, a=b=2.5") == {"0": 1.0, "a=b": 2.5}
    assert parse_class_weights('"yes, always=2",no=1') == {"yes, always": 2.0, "no": 1.0}
    for text in ("0", "=1", "0=1,0=2", "0=-1", "0=inf", "0=x"):
        with pytest.raises(ValueError, match=r".*"):
            parse_class_weights(text)
        with raises(InputError, f"--class_weights={text}: "):
            check_class_weights(text)
    assert [check_class_weights(text) for text in ("balanced", "none", "0=1")] == ["balanced", "none", "0=1"]


def test_flags_with_other_values():
    assert non_default_flags(Loss(), Dropout()) == []
    assert non_default_flags(Loss(label_smoothing=0.1), HeadInput(head_input="mean")) == [
        "label_smoothing",
        "head_input",
    ]
    assert HeadInput(head_input="mean").text_input is MEAN


def test_equal_rates():
    assert LayerRates().is_default
    assert LayerRates(freeze_encoder=True).is_default
    assert not LayerRates(freeze_layers=0).is_default
    assert not LayerRates(layerwise_lr_decay=0.9).is_default


@pytest.mark.parametrize("text", ["dense", "query,query", "", "query,"])
def test_wrong_targets_of_adapters(text):
    with pytest.raises(InputError, match="a list of query, key, value, attention_output, intermediate, output"):
        read_targets(text)


def test_adapters():
    assert LayerRates().lora is None
    rates = LayerRates(lora_rank=4, lora_targets=("value", "query"))
    assert rates.lora == Lora(4, 8.0, ("value", "query"))
    assert not rates.is_default
