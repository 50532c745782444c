"""Checks for task files."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.glue import FileLayout
from bert_cli.examples.task_checks import check_decimals, check_labels, check_text_column
from bert_cli.reading.rows import Row
from tests.snapshots import raises

LAYOUT = FileLayout("train.tsv", "text, label", 2, False, "train", label=1, aliases={"pos": "1"})


def rows(*lines: str) -> list[Row]:
    return [Row(number, line.split("|")) for number, line in enumerate(lines, start=1)]


@pytest.mark.parametrize("lines", [["a|0", "b| "], ["a|0", "b|2", "c|3"]])
def test_labels_of_a_task(lines):
    with raises(InputError, "a.tsv:2: "):
        check_labels("a.tsv", rows(*lines), LAYOUT, 1, ("0", "1"))


def test_aliases_are_labels():
    check_labels("a.tsv", rows("a|pos", "b|0"), LAYOUT, 1, ("0", "1"))


def test_labels_without_a_list_have_no_spaces_around():
    check_labels("a.tsv", rows("a|x", "b|x", "c|y", "d|y"), LAYOUT, 1, None)
    with raises(InputError, "a.tsv:2: "):
        check_labels("a.tsv", rows("a|x", "b|y "), LAYOUT, 1, None)


def test_numbers():
    check_decimals("a.tsv", rows("a|2.5", "b|-1"), 1)
    with raises(InputError, "a.tsv:2: "):
        check_decimals("a.tsv", rows("a|2.5", "b|x"), 1)


def test_labels_instead_of_texts():
    layout = FileLayout("test.tsv", "id, text", 2, True, "test", text_a=1)
    check_text_column("a.tsv", rows("id|text", "1|a text"), layout, ("0", "1"))
    with raises(InputError, "a.tsv:2: "):
        check_text_column("a.tsv", rows("id|label|mark|text", "1|0||the dog barks"), layout, ("0", "1"))
