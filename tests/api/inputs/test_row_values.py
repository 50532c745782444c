"""Values per text as columns of a table in memory."""

import numpy as np
import pandas as pd
import pytest

from bert_cli.api.inputs.row_values import read_groups, row_columns
from bert_cli.base.errors import InputError, InputTypeError
from tests.snapshots import raises


def test_groups_of_all_types():
    for values in ([1, 2], (1, 2), np.array([1, 2]), pd.Series([1, 2], index=[7, 9]), iter([1, 2])):
        assert read_groups(values, 2) == ["1", "2"]


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ([1], InputError, "groups: has 1 entries"),
        (["a", " "], InputError, "groups[1]: is missing"),
        ([float("nan"), 1], InputError, "groups[0]: is missing"),
        ({1, 2}, InputTypeError, "groups: "),
        (pd.DataFrame({"a": [1, 2]}), InputTypeError, "groups: "),
    ],
)
def test_refused_groups(values, error, message):
    with raises(error, message):
        read_groups(values, 2)


def test_columns_have_free_names():
    assert row_columns(2, ("text", "label"), None) == ({}, {})
    assert row_columns(1, ("groups", "groups_"), ["a"]) == ({"groups__": ["a"]}, {"group_column": "groups__"})
