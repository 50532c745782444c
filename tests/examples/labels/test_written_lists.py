"""Lists written as text, and names in brackets."""

import pytest

from bert_cli.examples.labels.written_lists import is_half_open_interval, parse_list, starts_like_list


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("['a', 'b']", ("a", "b")),
        ('["a","b"]', ("a", "b")),
        ("('a',)", ("a",)),
        ("('a', 'b')", ("a", "b")),
        ("{'a', 'b'}", ("a", "b")),
        ("['a' 'b']", ("a", "b")),
        ("['a'\n 'b']", ("a", "b")),
        ("array(['a', 'b'], dtype='<U1')", ("a", "b")),
        ('{"choices": ["a"]}', ("a",)),
        ('{"choices": ["a, b", "c"]}', ("a, b", "c")),
        ("['it\\'s', \"so, so\"]", ("it's", "so, so")),
        ('["caf\\u00e9"]', ("café",)),
        ("[' a ']", ("a",)),
        ("['a',]", ("a",)),
        ("[ 'a' ]", ("a",)),
        ("['1', '2']", ("1", "2")),
    ],
)
def test_lists_of_names(text, items):
    assert parse_list(text)[:2] == (items, True)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("[0, 1, 0]", ("0", "1", "0")),
        ("[0 1 0]", ("0", "1", "0")),
        ("[0. 1.]", ("0.", "1.")),
        ("[0,1]", ("0", "1")),
        ("(0, 1, 0)", ("0", "1", "0")),
        ("(3,)", ("3",)),
        ("[27]", ("27",)),
        ("{3, 12}", ("3", "12")),
        ("[ 3 12]", ("3", "12")),
        ("[True, False]", ("True", "False")),
        ("array([0, 1])", ("0", "1")),
        ("[]", ()),
        ("()", ()),
        ("{}", ()),
        ("[ ]", ()),
    ],
)
def test_lists_of_numbers(text, items):
    assert parse_list(text)[:2] == (items, False)


@pytest.mark.parametrize(
    "text",
    ["[Other]", "(none)", "[a, b]", "(3)", "(0, 10]", "[0, 1", "good", "", "[", "3 [a]", '{"label": "a"}', "{a}",
     "[[0, 1], [1, 0]]", '["a", null]', "[0 1 0 ... 1 0]", "['a'b']", "[1-2]", "(a) 'b'", '{"choices": "a"}', "{choices}",
     '{"choices": ["a"'],
)  # fmt: skip
def test_class_names(text):
    assert parse_list(text) is None


def test_half_open_intervals():
    assert is_half_open_interval("(0, 10]")
    assert is_half_open_interval("[0.5, 1.5)")
    assert not is_half_open_interval("[0, 10]")


def test_texts_that_start_like_a_list():
    assert all(map(starts_like_list, ("[a", "(a)", "{", "array([1])")))
    assert not any(map(starts_like_list, ("a[", "", "1, 2")))


@pytest.mark.parametrize(
    "text",
    [
        "[0.2, 0.8]",
        "[0.2 0.8]",
        "(0.5, 0.25, 0.25)",
        "array([0.2, 0.8], dtype=float32)",
        "tensor([0.2000, 0.8000])",
        "[np.float64(0.2), np.float64(0.8)]",
        '{"neg": 0.2, "pos": 0.8}',
        "{'neg': 2e-1, 'pos': 0.8}",
    ],
)
def test_probabilities(text):
    value = parse_list(text)
    assert value.are_decimals
    assert value.sums_to_one


@pytest.mark.parametrize(
    "text", ["[0, 1]", "[0.0, 1.0]", "[True, False]", "['0.2', '0.8']", "[0.2]", '{"a": 0, "b": 1}']
)
def test_other_lists_are_no_probabilities(text):
    assert not parse_list(text).are_decimals


@pytest.mark.parametrize("text", ['{"a": 1, "b": 0}', "{'a': True, 'b': False}", '{"a": 1.0, "b": 0.0, "c": 0}'])
def test_objects_with_a_number_per_label(text):
    assert parse_list(text).items == ("a",)
    assert parse_list(text).is_certain
