"""Lists of names in flags: names with commas or quotes, and empty names."""

import pytest

from bert_cli.base.names import join_names, read_name, split_names, write_name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b", ("a", "b")),
        (" a , b ", ("a", "b")),
        ('"a, b",c', ("a, b", "c")),
        ('c, "a, b"', ("c", "a, b")),
        ('""', ("",)),
        ('5" screen,b', ('5" screen', "b")),
        ('"he said ""no""",b', ('he said "no"', "b")),
        ('"open', ('"open',)),
    ],
)
def test_lists_of_names(text, names):
    assert split_names(text) == names
    assert split_names(join_names(names)) == names


@pytest.mark.parametrize("name", ["", "text", "How, are you?", '"odd" name', '"', '""', "a\tb"])
def test_written_name_is_read_unchanged(name):
    assert read_name(write_name(name)) == name


def test_single_name_needs_no_quotes():
    assert read_name("How, are you?") == "How, are you?"
    assert write_name("How, are you?") == "How, are you?"
