"""Lists of texts as arguments, and refused values."""

import collections

import numpy as np
import pandas as pd
import pytest

from bert_cli.api.inputs.texts import SINGLE_TEXTS, format_weights, list_items, read_texts_argument
from bert_cli.base.errors import InputError, InputTypeError
from tests.snapshots import raises

FRAME = pd.DataFrame({"id": [1, 2], "text": ["a", "b"]})


def single_texts(values):
    return read_texts_argument(values, SINGLE_TEXTS).singles


def texts_or_pairs(values):
    return read_texts_argument(values).pairs


@pytest.mark.parametrize(
    "texts",
    [
        ["a", "b"],
        ("a", "b"),
        (text for text in "ab"),
        map(str.lower, ["A", "B"]),
        collections.deque(["a", "b"]),
        {0: "a", 1: "b"}.values(),
        {"a": 0, "b": 1}.keys(),
        np.array(["a", "b"]),
        FRAME["text"],
        FRAME["text"].astype("string"),
        FRAME.set_index("text").index,
    ],
    ids=lambda texts: type(texts).__name__,
)
def test_iterables_of_texts_become_lists(texts):
    assert single_texts(texts) == ["a", "b"]


def test_an_arrow_column_is_a_list_of_texts():
    arrow = pytest.importorskip("pyarrow")
    assert single_texts(arrow.chunked_array([["a"], ["b"]])) == ["a", "b"]
    assert single_texts(arrow.table({"id": [1], "text": ["a"]})) == ["a"]


def test_texts_and_pairs_become_pairs():
    assert texts_or_pairs(["a", ("b", "c"), ["d", "e"]]) == [("a", None), ("b", "c"), ("d", "e")]
    assert texts_or_pairs(zip(["a", "b"], ["c", "d"], strict=True)) == [("a", "c"), ("b", "d")]
    assert texts_or_pairs(np.array([["a", "c"], ["b", "d"]])) == [("a", "c"), ("b", "d")]
    assert texts_or_pairs([]) == []


@pytest.mark.parametrize(
    "values",
    [
        "a text",
        b"a text",
        np.array("a text"),
        np.array(3),
        None,
        3,
        float("nan"),
        {"text": "a", "label": 1},
        collections.Counter("aab"),
        {"a", "b"},
        frozenset("ab"),
    ],
)
def test_other_values_are_refused(values):
    for read in (single_texts, texts_or_pairs):
        with raises(InputTypeError, "texts: ") as error:
            read(values)
    assert isinstance(error.value, InputError)
    assert isinstance(error.value, TypeError)


def test_a_text_of_numpy_is_refused():
    """Its repr depends on NumPy's version."""
    with pytest.raises(InputTypeError, match=r"^texts: .* found .*'a text'.*; put it into a list$"):
        single_texts(np.str_("a text"))


def test_the_error_about_a_table_for_pairs():
    with raises(InputTypeError, "questions: "):
        list_items("questions", FRAME, "a list of pairs", is_of_pairs=True)


@pytest.mark.parametrize(
    "item", [1, None, float("nan"), pd.NA, b"a", {"text": "a"}, {"a", "b"}, ("a", "b", "c"), ("a", 1)]
)
def test_items_are_refused_with_their_index(item):
    for read in (single_texts, texts_or_pairs):
        with pytest.raises(InputTypeError, match=r"^texts\[1\]: a text, or|^texts\[1\]: a text is") as error:
            read(["a", item])
        assert str(error.value).endswith(f"is needed, found {item!r}")


def test_pairs_are_refused_as_single_texts():
    with raises(InputTypeError, "texts[0]: "):
        single_texts([("a", "b")])
    with raises(InputTypeError, "texts[0]: "):
        texts_or_pairs([(None, "a")])


def test_a_long_item_is_cut_in_the_error():
    with pytest.raises(InputTypeError) as error:
        single_texts([["a long text " * 100]])
    assert len(str(error.value)) < 130


@pytest.mark.parametrize("weights", [FRAME, {"a": 1}, "12", None, 3, ["a", "b"], [[1], [2, 3]], [1, {}]])
def test_weights_that_are_no_numbers_are_refused(weights):
    with raises(InputTypeError, "sample_weight: "):
        format_weights(weights, 2)
