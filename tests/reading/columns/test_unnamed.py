"""Columns detected by value in tables without a header, and flags proposed in messages."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.reading.columns.find import find_columns
from bert_cli.reading.columns.roles import ColumnRules, TableColumns
from bert_cli.reading.delimited import Delimited
from bert_cli.reading.probe import TableFile
from bert_cli.reading.rows import Row
from bert_cli.settings.data import Columns, TrainedColumns
from tests.input_errors import error_of
from tests.snapshots import check_message, raises

TABLE = TableFile("a.csv", Delimited(","))
REVIEWS = [
    "a good film, really", "bad film", "a nice one", "the plot is dull", "great fun", "not my kind of film",
]  # fmt: skip


def detect_columns(columns, header="auto", needs_label=True, **flags) -> TableColumns:
    """Return the indices detected in a table with these columns."""
    rows = [Row(line, list(map(str, cells))) for line, cells in enumerate(zip(*columns, strict=True), start=1)]
    return find_columns(TABLE, rows, ColumnRules(Columns(**flags), header, needs_label))


def refused(columns, **options) -> str:
    return error_of(detect_columns, columns, **options)


@pytest.mark.parametrize("header", ["auto", "no"])
def test_two_columns_with_few_labels(header):
    assert detect_columns([[1, 2] * 3, REVIEWS], header) == TableColumns(2, None, 1, None, (0,), None)
    assert detect_columns([REVIEWS, ["ham", "spam"] * 3], header).labels == (1,)


def test_texts_with_one_word():
    words = ["super", "mies", "toll", "schlecht", "prima", "furchtbar"]
    assert detect_columns([words, ["gut", "schlimm"] * 3]).text_a == 0


def test_texts_without_spaces():
    texts = ["这部电影很好看", "这部电影不好看", "非常喜欢这部电影", "剧情太无聊了", "演员很棒非常好", "浪费我的时间"]
    assert detect_columns([range(6), texts, [0, 1] * 3]) == TableColumns(3, None, 1, None, (2,), None)


def test_colas_columns_with_an_id_and_a_filler():
    assert detect_columns([range(6), [1, 0] * 3, ["a"] * 6, REVIEWS]) == TableColumns(4, None, 3, None, (1,), None)


def test_one_flag_is_completed():
    assert detect_columns([[1, 2] * 3, [0, 1] * 3, REVIEWS], label_column="1").text_a == 2
    assert detect_columns([REVIEWS, [text[::-1] for text in REVIEWS], [0, 1] * 3], text_column="0").labels == (2,)


def test_a_file_to_predict_needs_no_label():
    assert detect_columns([range(6), REVIEWS], needs_label=False) == TableColumns(2, None, 1, None, (), None)


@pytest.mark.parametrize(
    ("columns", "flag"),
    [
        ([[1, 2] * 3, REVIEWS, ["x", "y"] * 3], "--text_column=1"),
        ([REVIEWS, REVIEWS[::-1], [0, 1] * 3], "--text_column=0"),
        ([REVIEWS, [0, 1] * 3, [1, 0] * 3], "--text_column=0"),
        ([REVIEWS, [1.5, 2.25, 3.5, 0.5, 4.25, 1.25]], "--text_column=0"),
        ([[1, 2] * 3, ["x", "y"] * 3], "--text_column="),
    ],
)
def test_ambiguous_columns_are_reported_with_flags(columns, flag):
    message = refused(columns)
    check_message(message, "a.csv:1: ", flag)
    assert f"0 {str(columns[0][0])!r}, 1 {str(columns[1][0])!r}" in message


def test_the_suggested_flags_are_accepted():
    columns = [[1, 2] * 3, REVIEWS, ["x", "y"] * 3]
    suggested = refused(columns).partition("add ")[2].partition(" or ")[0].split()
    flags = dict(flag.removeprefix("--").split("=") for flag in suggested)
    assert detect_columns(columns, **flags) == TableColumns(3, None, 1, None, (0,), None)


def test_header_with_unusual_names_is_ambiguous():
    check_message(refused([["stars", *[1, 2] * 3], ["remark", *REVIEWS]]), "a.csv:1: ")


IDS = [f"r{letter}" for letter in "abcdef"]


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (["note", "scrap"], [[7, 9, 12, 3, 4, 5], REVIEWS]),
        (["note", "body"], [IDS, [*REVIEWS[:5], "fine"]]),
        (["key", "scrap"], [IDS, REVIEWS]),
        ([0, 1], [IDS, REVIEWS]),
    ],
)
def test_header_with_unusual_names_without_labels_is_ambiguous(header, columns):
    named = [[name, *cells] for name, cells in zip(header, columns, strict=True)]
    check_message(refused(named, needs_label=False), "a.csv:1: ")
    assert detect_columns(named, "no", needs_label=False).names is None
    assert detect_columns(named, "yes", needs_label=False, text_column="1").names == tuple(map(str, header))


@pytest.mark.parametrize(
    "first",
    [[1, "Great"], ["ra", "Great"], ["rx", "Great!"], ["rx", "great fun"], ["rx", "a fine film with a dull plot"]],
)
def test_first_row_with_data_without_labels_is_not_a_header(first):
    columns = [[cell, *cells] for cell, cells in zip(first, [IDS, REVIEWS], strict=True)]
    assert detect_columns(columns, needs_label=False) == TableColumns(2, None, 1, None, (), None)


def test_trained_text_column_may_have_a_header():
    trained = TrainedColumns(guessed=Columns(text_column="1", label_column="0"))
    rows = [Row(1, ["note", "body"]), Row(2, ["7", "good"]), Row(3, ["9", "bad"]), Row(4, ["8", "ugly"])]
    with raises(InputError):
        find_columns(TABLE, rows, ColumnRules(needs_label=False, trained=trained))
    assert (
        find_columns(
            TableFile("a.csv", Delimited(",")), rows[1:], ColumnRules(needs_label=False, trained=trained)
        ).text_a
        == 1
    )


@pytest.mark.parametrize(
    ("first", "columns", "flags"),
    [
        (["", "0"], [REVIEWS, ["ham", "spam"] * 3], "--text_column='\"\"' --label_column=0"),
        (["", "0", "1"], [range(6), REVIEWS, ["ham", "spam"] * 3], "--text_column=0 --label_column=1"),
        (["0", "1"], [["ham", "spam"] * 3, REVIEWS], "--text_column=1 --label_column=0"),
    ],
)
def test_header_with_column_numbers_is_reported_by_name(first, columns, flags):
    check_message(
        refused([[name, *cells] for name, cells in zip(first, columns, strict=True)]), f"--header=yes {flags} if"
    )


def test_empty_text_with_label_0_is_not_a_header():
    assert detect_columns([["", *REVIEWS], [0, 1, 0, 1, 0, 1, 0]]).names is None
