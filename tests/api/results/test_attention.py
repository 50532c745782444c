"""Attention as an object: one layer as a table, the strongest links, and heat maps."""

import numpy as np
import pytest

from bert_cli.api.results.attention import Attention
from bert_cli.base.errors import InputError
from tests.snapshots import raises

TOKENS = ("[CLS]", "a", "<b>", "[SEP]")


def uniform(row: list[float]) -> np.ndarray:
    return np.tile(np.float32(row), (4, 1))


WEIGHTS = np.stack(
    [
        np.stack([uniform([0.25, 0.25, 0.25, 0.25]), uniform([0.5, 0, 0, 0.5])]),
        np.stack([uniform([0, 1, 0, 0]), uniform([0, 0.5, 0.5, 0])]),
    ]
)
ATTENTION = Attention("a <b>", None, "a model", TOKENS, WEIGHTS)


def test_one_layer_is_a_table():
    frame = ATTENTION.to_frame()
    assert frame.index.tolist() == frame.columns.tolist() == list(TOKENS)
    assert frame.loc["a"].tolist() == [0, 0.75, 0.25, 0]
    assert ATTENTION.to_frame(layer=0, head=1).loc["a"].tolist() == [0.5, 0, 0, 0.5]
    assert ATTENTION.to_frame(layer=-2, head=0).equals(ATTENTION.to_frame(0, 0))


def test_links_are_without_special_tokens():
    assert ATTENTION.links(2) == [(0.75, "a:1", "a:1"), (0.75, "<b>:2", "a:1")]
    assert repr(ATTENTION).splitlines()[:2] == [
        "Attention: 2 layers, 2 heads, 4 tokens; strongest links of the last layer",
        "  0.7500  a:1 -> a:1",
    ]


def test_heat_maps_are_in_a_frame():
    page = ATTENTION.page().html
    assert page.count('<figure id="l1h1"') == 1
    assert page.count("<span>&lt;b&gt;</span>") == 8
    assert "srcdoc=" in ATTENTION._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"layer": 2}, "layer=2: "),
        ({"layer": -3}, "layer=-3: "),
        ({"head": 2}, "head=2: "),
        ({"head": -1}, "head=-1: "),
    ],
)
def test_unknown_layers_and_heads(arguments, place):
    with raises(InputError, place):
        ATTENTION.to_frame(**arguments)
