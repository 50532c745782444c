"""Prodigy's answers: accepted, rejected and ignored records in each form that Prodigy writes."""

import csv
import gzip
import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.labels.reading import FileRole, read_labels
from bert_cli.examples.user_tables import read_user_table
from bert_cli.problem_types.registry import MULTI_LABEL, SINGLE_LABEL
from bert_cli.reading.columns.answers import are_answers
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.probe import open_table
from bert_cli.settings.data import Columns
from tests.rows import write_rows
from tests.snapshots import check_message, raises

TRAIN, DEV, TEST = FileRole(True, False, False), FileRole(False, False, False), FileRole(False, True, False)
BINARY = [("one", "A", "accept"), ("two", "B", "accept"), ("three", "A", "reject"), ("four", "B", "ignore")]
ONE_LABEL = [("one", "A", "accept"), ("two", "A", "reject"), ("three", "A", "reject"), ("four", "A", "ignore")]
SEVERAL = [("one", "A", "reject"), ("one", "B", "accept"), ("two", "A", "accept"), ("two", "B", "accept")]
ROWS_OF_LABELS = ("text", "label", "answer")


def write_lines(folder, rows, columns=ROWS_OF_LABELS):
    return write_rows(folder / "data.jsonl", (dict(zip(columns, row, strict=True)) for row in rows))


def write_array(folder, rows):
    path = folder / "data.json"
    path.write_text(json.dumps([dict(zip(ROWS_OF_LABELS, row, strict=True)) for row in rows]))
    return path


def write_gzip(folder, rows):
    lines = write_lines(folder, rows)
    path = folder / "data.jsonl.gz"
    path.write_bytes(gzip.compress(lines.read_bytes()))
    return path


def write_csv(folder, rows):
    path = folder / "data.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([ROWS_OF_LABELS, *rows])
    return path


def labels_of(path, problem_type=None, names=None, role=TRAIN, **columns):
    flags = {"text_column": None, "text_b_column": None, "label_column": None} | columns
    table = read_user_table(open_table(str(path), "train_file"), "train", ColumnRules(Columns(**flags)))
    return read_labels(table.label_cells(None), problem_type, names, role, table.answers)


@pytest.mark.parametrize("write", [write_lines, write_array, write_gzip, write_csv])
def test_rejected_rows_are_no_examples_of_their_label(tmp_path, caplog, write):
    caplog.set_level("INFO")
    assert labels_of(write(tmp_path, BINARY))[:3] == (SINGLE_LABEL, ("A", "B"), ["A", "B", None, None])
    check_message(caplog, "2 accept")
    (left_out,) = labels_of(write(tmp_path, BINARY)).left_out
    assert (left_out.reason, left_out.num_rows) == ("rows that are not accepted", 2)


def test_rejected_rows_are_negative_for_several_labels(tmp_path):
    labels = labels_of(write_lines(tmp_path, BINARY), MULTI_LABEL)
    assert labels[:3] == (MULTI_LABEL, ("A", "B"), [(1, 0), (0, 1), (0, 0), None])
    assert [(rows.num_rows, rows.line) for rows in labels.left_out] == [(1, 4)]


def test_one_label_is_accepted_or_rejected(tmp_path):
    assert labels_of(write_lines(tmp_path, ONE_LABEL))[:3] == (MULTI_LABEL, ("A",), [(1,), (0,), (0,), None])


def test_answers_about_one_text_are_joined(tmp_path, caplog):
    caplog.set_level("INFO")
    path = write_lines(tmp_path, SEVERAL)
    assert labels_of(path)[:3] == (MULTI_LABEL, ("A", "B"), [(0, 1), None, (1, 1), None])
    assert "4 rows are about 2 texts" in caplog.text
    assert labels_of(path, SINGLE_LABEL).rows == [None, "B", "A", "B"]


@pytest.mark.parametrize("role", [DEV, TEST])
def test_other_files_follow_the_model(tmp_path, role):
    path = write_lines(tmp_path, BINARY)
    assert labels_of(path, SINGLE_LABEL, ("B", "A"), role).rows == ["A", "B", None, None]
    assert labels_of(path, MULTI_LABEL, ("B", "A"), role).rows == [(0, 1), (1, 0), (0, 0), None]


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        ([["A"], ["B"], ["A"], ["B"]], (SINGLE_LABEL, ("A", "B"), ["A", "B", None, None])),
        ([["A", "B"], ["B"], ["A"], []], (MULTI_LABEL, ("A", "B"), [(1, 1), (0, 1), None, None])),
        ([[], ["B", "A"], ["A"], ["C"]], (MULTI_LABEL, ("A", "B"), [(0, 0), (1, 1), None, None])),
    ],
)
def test_choices(tmp_path, accepted, expected):
    options = [{"id": name, "text": f"The {name}"} for name in "ABC"]
    rows = [
        (text, options, names, answer) for (text, _, answer), names in zip(BINARY, accepted, strict=True)
    ]  # fmt: skip
    assert labels_of(write_lines(tmp_path, rows, ("text", "options", "accept", "answer")))[:3] == expected


def test_categories_with_and_without_answers(tmp_path):
    categories = [{"A": 1.0, "B": 0.0}, {"A": False, "B": True}, {"A": 1, "B": 0}, {"A": 1, "B": 0}]
    rows = [(text, cats, answer) for (text, _, answer), cats in zip(BINARY, categories, strict=True)]
    path = write_lines(tmp_path, rows, ("text", "cats", "answer"))
    assert labels_of(path)[:3] == (SINGLE_LABEL, ("A", "B"), ["A", "B", None, None])
    path = write_lines(tmp_path, [row[:2] for row in rows], ("text", "cats"))
    assert labels_of(path)[:3] == (SINGLE_LABEL, ("A", "B"), ["A", "B", "A", "A"])


def test_scores_are_not_labels(tmp_path):
    rows = [(text, label, 0.5, answer) for text, label, answer in BINARY]
    assert labels_of(write_lines(tmp_path, rows, ("text", "label", "score", "answer"))).names == ("A", "B")


def test_records_without_an_answer_count(tmp_path):
    assert labels_of(write_lines(tmp_path, [*BINARY, ("five", "B", None)])).rows[-1] == "B"


def test_other_answers_are_not_prodigys(tmp_path):
    rows = [(text, label, "yes" if answer == "accept" else answer) for text, label, answer in BINARY]
    assert labels_of(write_lines(tmp_path, rows)).rows == ["A", "B", "A", "B"]
    late = [*BINARY, *[("more", "A", "accept")] * 1000, ("last", "B", "maybe")]
    assert None not in labels_of(write_lines(tmp_path, late)).rows


def test_a_label_column_of_this_name(tmp_path):
    path = write_csv(tmp_path, [(text, "x", answer) for text, _, answer in BINARY])
    assert labels_of(path, label_column="answer").names == ("accept", "ignore", "reject")


def test_different_answers_have_a_warning(tmp_path, caplog):
    rows = [*BINARY, ("one", "A", "reject"), ("five", "C", "reject")]
    path = write_lines(tmp_path, rows)
    assert labels_of(path).rows[0] == "A"
    check_message(caplog, f"{path}:1: ")
    check_message(caplog)


def test_no_accepted_row_is_refused(tmp_path):
    path = write_lines(tmp_path, [("one", "A", "reject"), ("two", "B", "ignore")])
    with raises(InputError, f"{path}:1: "):
        labels_of(path)


@pytest.mark.parametrize(
    ("values", "expected"),
    [(["accept", ""], True), (["", ""], False), (["Accept"], False), (["accept", ("reject",)], False), ([], False)],
)
def test_columns_of_answers(values, expected):
    assert are_answers(values) == expected
