"""Values of --layers."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import parse_layers
from tests.snapshots import raises


@pytest.mark.parametrize(
    ("text", "layers"),
    [
        ("-1,-2", [(-1, 4), (-2, 3)]),
        ("2,0", [(2, 3), (0, 1)]),
        (" 1 , 1", [(1, 2), (1, 2)]),
        ("embedding,-1", [("embedding", 0), (-1, 4)]),
        ("all", [(0, 1), (1, 2), (2, 3), (3, 4)]),
        ("-4:-3", [(-4, 1), (-3, 2)]),
        ("-1:-2", [(-1, 4), (-2, 3)]),
        ("1-3", [(1, 2), (2, 3), (3, 4)]),
        ("0:1", [(0, 1), (1, 2)]),
    ],
)
def test_layers(text, layers):
    assert parse_layers(text, 4) == layers


@pytest.mark.parametrize("text", ["4", "-5", "0:4", "-9:-1", "1-999999999999"])
def test_missing_layers(text):
    with raises(InputError):
        parse_layers(text, 4)


@pytest.mark.parametrize("text", ["", "last", "1,,2", "1.5", "1-", "--1"])
def test_invalid_values(text):
    with raises(InputError):
        parse_layers(text, 4)


def test_ranges_must_count_from_one_side():
    with pytest.raises(InputError, match="count both ends"):
        parse_layers("1:-1", 4)
