"""Columns in user tables, by usual names and by flags, and errors about ambiguous columns."""

import logging

import pytest

from bert_cli.reading.columns.find import find_columns
from bert_cli.reading.columns.roles import ColumnRules, TableColumns
from bert_cli.reading.delimited import Delimited
from bert_cli.reading.json_tables import JsonTable
from bert_cli.reading.probe import TableFile
from bert_cli.reading.rows import Row
from bert_cli.settings.data import NOT_TRAINED, Columns, TrainedColumns
from tests.input_errors import error_of
from tests.snapshots import check_message


def detect_columns(
    *lines: str, name="a.csv", header="auto", needs_label=True, trained=NOT_TRAINED, **columns
) -> TableColumns:
    rows = [Row(number, line.split("|")) for number, line in enumerate(lines, start=1)]
    layout = JsonTable(tuple(rows[0].cells)) if name.endswith("jsonl") else Delimited(",")
    return find_columns(
        TableFile(name, layout), rows, ColumnRules(Columns(**columns), header, needs_label, trained=trained)
    )


def refused(*arguments, **options) -> str:
    return error_of(detect_columns, *arguments, **options)


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
def test_unambiguous_names(header, text_a, text_b, label, identifier, caplog):
    names = tuple(header.split("|"))
    with caplog.at_level(logging.INFO):
        indices = detect_columns(header, "|".join("x" * len(names)))
    assert indices == TableColumns(len(names), names, text_a, text_b, (label,), identifier)


@pytest.mark.parametrize(
    "lines",
    [
        ["text|review|label", "a|b|c"],
        ["text|label|category", "a|b|c"],
        ["Wow, loved it.|1"],
        ["text|id|stance", "a|b|c"],
    ],
)
def test_ambiguous_columns(lines):
    check_message(refused(*lines), "a.csv:1: ")


def test_several_columns_of_0_and_1_are_listed():
    check_message(refused("id|comment_text|rude|loud|n", "a|b|0|1|2", "c|d|1|1|3"), "--label_column=rude")


def test_columns_by_name_and_number():
    assert detect_columns("a|b|c|d", "1|2|3|4", text_column="c", label_column="a,d", id_column="b") == TableColumns(
        4, ("a", "b", "c", "d"), 2, None, (0, 3), 1
    )
    assert detect_columns("ham|Hello there", "spam|Win", text_column="1", label_column="0") == TableColumns(
        2, None, 1, None, (0,), None
    )
    assert detect_columns("text|label", "x|1", text_column="0", label_column="1").names == ("text", "label")
    assert (
        detect_columns("a|0|1", "x|y|z", text_column="1", label_column="a", header="yes").text_a == 2
    )  # names take precedence over numbers


def test_missing_column():
    check_message(refused("text|label", "a|b", text_column="txt"), "a.csv:1: ")
    check_message(refused("hm, what|1", "b|0", text_column="0", label_column="2"), "a.csv:1: ")
    check_message(refused("text|label", "a|b", text_column="text", label_column="text"))


def test_header_flag():
    assert detect_columns("text|label", "a|b", header="no", text_column="0", label_column="1").names is None
    assert detect_columns("x|y", "a|b", header="yes", text_column="0", label_column="1").names == ("x", "y")
    lines = ["remark|verdict", "It was good.|1", "It was bad.|0"]
    assert "looks like a header" in refused(*lines, text_column="0", label_column="1")
    assert detect_columns(*lines, header="no", text_column="0", label_column="1").names is None


def test_file_to_predict():
    assert detect_columns("text|label", "a|b", needs_label=False).labels == (1,)
    assert detect_columns("text|id", "a|b", needs_label=False, label_column="label") == TableColumns(
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
    assert detect_columns(first, "x", name=name, header=header, needs_label=False) == TableColumns(
        1, expected, 0, None, (), None, may_have_pairs=True
    )


def test_a_list_of_texts_has_no_labels():
    for name, line in (
        ("a.txt", "x"),
        ("a.tsv", "x,1"),
        ("a.tsv", "x;1"),
        ("a.csv", "x"),
        ("a.csv", "x\t1"),
    ):
        check_message(refused(line, line, name=name), f"{name}: ")
    named = detect_columns("Remark", "x", needs_label=False, text_column="Remark")
    assert named.names == ("Remark",)


def test_number_for_another_file_has_a_warning(caplog):
    assert detect_columns("id|text", "7|a", needs_label=False, text_column="0").text_a == 0
    check_message(caplog, "a.csv:1: ")


def guessed(text: str, label: str | None = None, second: str | None = None) -> TrainedColumns:
    return TrainedColumns(guessed=Columns(text_column=text, text_b_column=second, label_column=label))


def test_trained_columns_are_used_if_the_file_has_them():
    trained = guessed("comment_text", "stars")
    two_texts = ("comment_text|review|stars|class", "a|b|1|2")
    check_message(refused(*two_texts))
    indices = detect_columns(*two_texts, trained=trained)
    assert (indices.text_a, indices.labels) == (0, (2,))
    # The trained text column's name makes a header. This run's flags take precedence.
    assert detect_columns("comment_text|x", "a|b", needs_label=False, trained=trained).names == ("comment_text", "x")
    assert detect_columns(*two_texts, trained=trained, text_column="review").text_a == 1
    pair = guessed("text", "label", "text_b")
    assert detect_columns("text|text_b|sentence|label", "a|b|c|1", trained=pair).text_b == 1


def test_columns_are_detected_if_the_file_lacks_the_trained_columns():
    indices = detect_columns("review|class", "a|1", trained=guessed("comment_text", "stars"))
    assert (indices.text_a, indices.labels) == (0, (1,))
    indices = detect_columns(
        "sentence1|sentence2|x", "a|b|c", needs_label=False, trained=guessed("text1", "label", "text2")
    )
    assert (indices.text_a, indices.text_b) == (0, 1)


def test_trained_numbers_decide_if_values_are_ambiguous():
    lines = ["ham|hello", "spam|win"]
    assert "the values leave a doubt" in refused(*lines, header="no")
    indices = detect_columns(*lines, header="no", trained=guessed("1", "0"))
    assert (indices.text_a, indices.labels) == (1, (0,))
    assert detect_columns(*lines, header="no", trained=guessed("1", "0"), needs_label=False).labels == ()
    indices = detect_columns("Verdict|Remark", "a|b", header="yes", trained=guessed("1", "0"))
    assert (indices.text_a, indices.labels) == (1, (0,))
    assert "the values leave a doubt" in refused(*lines, header="no", trained=guessed("2", "0"))
    # Unambiguous values, and names, take precedence over trained numbers.
    values = ["It was good.|x1", "It was bad.|x2"]
    assert detect_columns(*values, header="no", needs_label=False, trained=guessed("1", "0")).text_a == 0
    assert detect_columns("text|id", "a|7", needs_label=False, trained=guessed("1", "0")).text_a == 0


def test_pairs_and_single_texts():
    pair, single = guessed("text1", "label", "text2"), guessed("comment_text", "label")
    check_message(refused("review|id", "a|7", needs_label=False, trained=pair), "a.csv:1: ")
    check_message(refused("text1|text2", "a|b", needs_label=False, trained=single), "--text_column")
    # A list of texts may have pairs in its lines.
    for trained, may_have_pairs in ((pair, True), (NOT_TRAINED, True), (TrainedColumns(num_texts=1), False)):
        assert detect_columns("text", "a", needs_label=False, trained=trained).may_have_pairs == may_have_pairs
    check_message(refused("text", "a", needs_label=False, text_b_column="b"), "--text_b_column")


def test_missing_column_from_a_flag_of_the_training_run():
    trained = TrainedColumns(frozenset({"text_column"}))
    check_message(refused("text|label", "a|b", text_column="txt", trained=trained), "a.csv:1: ")


@pytest.mark.parametrize("lines", [["text|label", "a|b"], ["text|key", "a|b"], ["It was good."]])
def test_trained_id_column_may_be_missing(lines, caplog):
    """If the command's own flag gives the id column, it must exist, even in a list of texts."""
    trained = TrainedColumns(frozenset({"id_column"}))
    options = {"needs_label": False, "trained": trained}
    with caplog.at_level(logging.INFO):
        indices = detect_columns(*lines, id_column="key", **options)
    is_present = lines[0] == "text|key"
    assert indices.identifier == (1 if is_present else None)
    assert ("a.csv: has no column 'key', the --id_column of the training run" in caplog.text) != is_present
    if not is_present:
        check_message(refused(*lines, id_column="key", needs_label=False), "a.csv:1: ")


def test_empty_quotes_name_a_column_without_a_name():
    assert detect_columns("|label", "a film|x", text_column="") == TableColumns(2, ("", "label"), 0, None, (1,), None)
    check_message(refused("|label|", "a|x|y", text_column=""), "--text_column=: ")


def test_names_with_commas():
    header = "When|How, overall, was it?|Good, or bad?"
    place_of = {"text_column": "How, overall, was it?", "label_column": "Good, or bad?"}
    assert detect_columns(header, "1|a|b", **place_of).labels == (2,)
    assert detect_columns(header, "1|a|b", **place_of | {"label_column": '"Good, or bad?",When'}).labels == (2, 0)
    binary = refused('text|toxic, or rude|"odd"', "a|1|0", "b|0|1", header="yes")
    assert binary.endswith('as multi-label data has: --label_column="toxic, or rude","""odd"""')


def test_unused_second_text_of_a_pair_is_logged(caplog):
    with caplog.at_level(logging.INFO):
        assert detect_columns("sentence1|sentence2|label", "a|b|c", text_column="sentence1").text_b is None
    check_message(caplog, "a.csv: ")
