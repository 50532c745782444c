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
    assert parse_list(text) == (items, True)


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
    assert parse_list(text) == (items, False)


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
