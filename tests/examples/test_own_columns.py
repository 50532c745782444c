"""Which columns are taken of a user's own table, by their names and by flags, and where the reader has to ask."""

import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.own_columns import ColumnIndices, find_columns
from bert_cli.examples.tables import Row
from bert_cli.settings.data import Columns


def place(*lines: str, name="a.csv", header="auto", needs_label=True, **columns) -> ColumnIndices:
    rows = [Row(number, line.split("|")) for number, line in enumerate(lines, start=1)]
    return find_columns(name, rows, Columns(**columns), header, needs_label)


def refused(*arguments, **options) -> str:
    with pytest.raises(InputError) as caught:
        place(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("header", "text_a", "text_b", "label", "identifier"),
    [
        ("text|label", 0, None, 1, None),
        ("Label|ID|Sentence", 2, None, 0, 1),
        ("review_id|user_id|stars|date|text|useful", 4, None, 2, 0),
        ("index|sentence1|sentence2|score", 1, 2, 3, 0),
        ("label|text_a|text_b", 1, 2, 0, None),
        ("premise|hypothesis|gold label", 0, 1, 2, None),
        ("index|question|sentence|label", 1, 2, 3, 0),
    ],
)
def test_names_that_leave_no_doubt(header, text_a, text_b, label, identifier, caplog):
    names = tuple(header.split("|"))
    with caplog.at_level(logging.INFO):
        found = place(header, "|".join("x" * len(names)))
    assert found == ColumnIndices(len(names), names, text_a, text_b, (label,), identifier)
    assert f"a.csv: took {names[text_a]!r}" in caplog.text
    assert f"a.csv: took {names[label]!r} for the label" in caplog.text


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ["text|review|label", "a|b|c"],
            "no column that is the text without doubt; give --text_column by name: 0 'text'",
        ),
        (["text|label|category", "a|b|c"], "no column that is the label without doubt; give --label_column by name"),
        (
            ["Wow, loved it.|1"],
            "no header of usual names, and the values leave a doubt about the columns; add --text_column=0 --label_column=1",
        ),
        (["text|id|stance", "a|b|c"], "no column that is the label without doubt"),
    ],
)
def test_doubt(lines, expected):
    assert refused(*lines).startswith(f"a.csv:1: {expected}")


def test_several_columns_of_0_and_1_are_named():
    message = refused("id|comment_text|rude|loud|n", "a|b|0|1|2", "c|d|1|1|3")
    assert message.endswith("as labels that do not exclude each other: --label_column=rude,loud")


def test_columns_by_name_and_number():
    assert place("a|b|c|d", "1|2|3|4", text_column="c", label_column="a,d", id_column="b") == ColumnIndices(
        4, ("a", "b", "c", "d"), 2, None, (0, 3), 1
    )
    assert place("ham|Hello there", "spam|Win", text_column="1", label_column="0") == ColumnIndices(
        2, None, 1, None, (0,), None
    )
    assert place("text|label", "x|1", text_column="0", label_column="1").names == ("text", "label")
    assert (
        place("a|0|1", "x|y|z", text_column="1", label_column="a", header="yes").text_a == 2
    )  # a name goes before a number


def test_a_column_that_is_not_there():
    assert refused("text|label", "a|b", text_column="txt") == (
        "a.csv:1: --text_column=txt: there is no such column; the file has columns 'text', 'label'"
    )
    assert refused("hm, what|1", "b|0", text_column="0", label_column="2") == (
        "a.csv:1: --label_column=2: there is no such column; the file has 2 columns without names, 0 to 1"
    )
    assert "one column is named twice" in refused("text|label", "a|b", text_column="text", label_column="text")


def test_header_flag():
    assert place("text|label", "a|b", header="no", text_column="0", label_column="1").names is None
    assert place("x|y", "a|b", header="yes", text_column="0", label_column="1").names == ("x", "y")
    lines = ["remark|verdict", "It was good.|1", "It was bad.|0"]
    assert "looks like a header" in refused(*lines, text_column="0", label_column="1")
    assert place(*lines, header="no", text_column="0", label_column="1").names is None


def test_a_file_to_predict():
    assert place("text|label", "a|b", needs_label=False).labels == (1,)
    assert place("text|id", "a|b", needs_label=False, label_column="label") == ColumnIndices(
        2, ("text", "id"), 0, None, (), 1
    )
    assert "--id_column=key" in refused("text|id", "a|b", needs_label=False, id_column="key")


@pytest.mark.parametrize(
    ("name", "first", "header", "expected"),
    [
        ("a.txt", "text", "auto", None),
        ("a.txt", "text", "yes", ("text",)),
        ("a.tsv", "text", "auto", ("text",)),
        ("a.csv", "Remark", "auto", None),
        ("a.tsv", "A good day.", "auto", None),
        ("a.tsv", "text", "no", None),
    ],
)
def test_a_list_of_texts(name, first, header, expected):
    assert place(first, "x", name=name, header=header, needs_label=False) == ColumnIndices(
        1, expected, 0, None, (), None
    )


def test_a_list_of_texts_has_no_labels():
    assert "has one column, and one of labels is needed too" in refused("x", name="a.txt")
    named = place("Remark", "x", needs_label=False, text_column="Remark")
    assert named.names == ("Remark",)


def test_a_number_that_is_of_another_file(caplog):
    assert place("id|text", "7|a", needs_label=False, text_column="0").text_a == 0
    assert "a.csv:1: warning: --text_column=0 is 'id', beside a column 'text'; is it the text?" in caplog.text
