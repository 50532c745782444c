"""Lists of names in flags: names with commas or quotes, and empty names."""

import pytest

from bert_cli.base.lines import read_text, split_lines
from bert_cli.base.names import find_label_problem, join_names, read_name, show_names, split_names, write_name
from bert_cli.base.writing import write_lines


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


@pytest.mark.parametrize("label", ["a\nb", "a\r\nb", "a\rb", "a\0b", "a\ud800", "\ufeffa"])
def test_labels_that_labels_txt_cannot_hold(label):
    assert find_label_problem(label)


# str.splitlines would also split at these characters.
@pytest.mark.parametrize("character", " \v\f\x1c\x1d\x1e\x85\u2028\u2029\ufeff")
def test_labels_txt_holds_other_line_ends(tmp_path, character):
    label = f"a{character}b"
    assert not find_label_problem(label)
    path = str(tmp_path / "labels.txt")
    write_lines(path, [label, "c"])
    assert split_lines(read_text(path), path) == [label, "c", ""]


def test_names_in_a_log_line():
    assert show_names(["Food, drink", "Staff", 'a "b"', ""]) == '"Food, drink", Staff, a "b", '
