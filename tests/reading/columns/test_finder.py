"""Table columns by flag values and usual names."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.reading.columns.finder import ColumnFinder
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.rows import Row
from bert_cli.settings.data import NOT_TRAINED, Columns, TrainedColumns
from tests.snapshots import raises

NO_COLUMNS = Columns()


def finder(header: str, columns: Columns = NO_COLUMNS, needs_label=True, trained=NOT_TRAINED) -> ColumnFinder:
    names = tuple(header.split("|"))
    rules = ColumnRules(columns, needs_label=needs_label, trained=trained)
    return ColumnFinder("a.csv", [Row(1, names), Row(2, ["1"] * len(names))], names, rules)


def test_flags_list_their_columns():
    columns = Columns(text_column="a", text_b_column="b", label_column="c,d", id_column="e")
    assert ColumnRules(columns, choices=("x", "y")).flag_columns == ["a", "b", "x", "y", "c", "d", "e"]


def test_columns_by_name_and_number():
    assert finder("id|text|label").require("label", "label_column") == 2
    assert finder("id|text|label").require("1", "text_column") == 1
    with raises(InputError, "a.csv:1: "):
        finder("id|text").require("x", "text_column")


def test_a_column_of_the_training_run_is_named():
    trained = TrainedColumns(frozenset({"text_column"}), Columns())
    with raises(InputError, "--text_column=x"):
        finder("id|text", trained=trained).require("x", "text_column")


@pytest.mark.parametrize(
    ("header", "texts", "labels", "identifier"),
    [
        ("id|text|label", (1, None), (2,), 0),
        ("sentence1|sentence2|score", (0, 1), (2,), None),
        ("Stars|Review Text|uid", (1, None), (0,), 2),
    ],
)
def test_usual_names(header, texts, labels, identifier):
    table = finder(header)
    assert table.find_texts() == texts
    assert table.find_labels(texts) == labels
    assert table.find_identifier((*texts, *labels)) == identifier


def test_columns_of_0_and_1_are_proposed_as_labels():
    with raises(InputError, "--label_column=rude"):
        finder("text|rude|mild").find_labels((0,))


def test_files_to_predict_need_no_label():
    assert finder("text|x", needs_label=False).find_labels((0,)) == ()
    assert finder("text|x", Columns(label_column="y"), needs_label=False).find_labels((0,)) == ()
