"""Multiple-choice tables as examples: user tables and swag files, with all forms of labels."""

import pytest

from bert_cli.examples.choice import (
    ChoiceExample,
    describe_choices,
    find_choice_labels,
    make_choice_examples,
    read_choice_file,
)
from bert_cli.examples.glue import find_task
from bert_cli.examples.splitting import split_dev
from bert_cli.examples.user_tables import read_user_table
from bert_cli.problem_types.registry import MULTIPLE_CHOICE
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.probe import open_table
from bert_cli.settings.data import Columns, HeldOut
from tests.input_errors import error_of
from tests.rows import tabbed, write_rows
from tests.snapshots import check_message

ENDINGS = ("a", "b", "c")


@pytest.fixture
def file(tmp_path):
    """Return a function that writes lines to a file and reads them as a UserTable.

    In the lines, | is written as a tab. The choices are in columns a, b and c.
    """

    def read(*lines, name="train.tsv", choices=ENDINGS, needs_label=True, header="auto", **columns):
        table = open_table(str(write_rows(tmp_path / name, tabbed(*lines))), "train_file")
        return read_user_table(table, "train", ColumnRules(Columns(**columns), header, needs_label, choices))

    return read


def labeled_table(file, *labels):
    return file("text|a|b|c|label", *(f"t|x|y|z|{label}" for label in labels))


def test_user_table(file):
    table = file("id|b|text|label|a|c", "k|two|He said|2|one|three", "|5|And|0|4|6")
    assert find_choice_labels(table) == "0"
    assert make_choice_examples(table, "0") == [
        ChoiceExample("k", "He said", ("one", "two", "three"), 2),
        ChoiceExample("train-1", "And", ("4", "5", "6"), 0),
    ]
    assert describe_choices(make_choice_examples(table, "0")) == (
        "2 examples of 3 endings; right: 0 1 (50.0%), 1 0 (0.0%), 2 1 (50.0%)"
    )


def test_columns_by_number_in_json_and_csv(file):
    codah = file(*(f"o|He{n}|a|b|c|d|{n}" for n in range(4)), text_column="1", choices=tuple("2345"), label_column="6")
    assert codah.columns.names is None
    assert find_choice_labels(codah) == "0"
    assert make_choice_examples(codah, "0")[3] == ChoiceExample("train-3", "He3", ("a", "b", "c", "d"), 3)
    lines = (f'{{"sentence": "s", "option1": "o", "option2": "p", "answer": "{n}"}}' for n in (1, 2))
    grande = file(*lines, name="x.jsonl", choices=("option1", "option2"), label_column="answer")
    assert find_choice_labels(grande) == "1"
    assert [example.label for example in make_choice_examples(grande, "1")] == [0, 1]
    quoted = file("text,a,b,label", '"One, two",x,"y', 'z",1', "t,u,v,0", name="x.csv", choices=("b", "a"))
    assert make_choice_examples(quoted, "0")[0] == ChoiceExample("train-0", "One, two", ("y\nz", "x"), 1)


@pytest.mark.parametrize(
    ("labels", "label_form", "indices"),
    [
        (("0", "2", "1"), "0", [0, 2, 1]),
        (("0", "0"), "0", [0, 0]),
        (("3", "1", "2"), "1", [2, 0, 1]),
        (("3", "3"), "1", [2, 2]),
        (("B", "A", "C"), "letter", [1, 0, 2]),
        (("b", "a"), "name", [1, 0]),
    ],
)
def test_label_forms_are_detected(file, labels, label_form, indices):
    table = labeled_table(file, *labels)
    assert find_choice_labels(table) == label_form
    assert [example.label for example in make_choice_examples(table, label_form)] == indices


def test_labels_that_may_count_from_0_or_1(file):
    check_message(error_of(find_choice_labels, labeled_table(file, "1", "2", "1")), "train.tsv: ")


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        (("0", "3", "4"), ":3: "),
        (("0", "", "1"), ":3: "),
        (("A", "B", "D"), ":4: "),
        (("a", "b", "b", "x"), ":5: "),
        (("1", "-1"), ":3: "),
    ],
)
def test_labels_without_an_ending(file, labels, place):
    table = labeled_table(file, *labels)
    check_message(error_of(make_choice_examples, table, find_choice_labels(table)), place)


def test_missing_cells_and_columns(file):
    check_message(
        error_of(make_choice_examples, file("text|a|b|c|label", "t|x|y|z|0", "t|x| |z|0", "t||y|z|0"), "0"),
        "train.tsv:3: ",
    )
    check_message(error_of(file, "text|a|b|label", "t|x|y|0"), "--choice_columns=c: ")
    check_message(error_of(file, "text|a|b|c|label", "t|x|y|z|0", text_column="a"), "--text_column")
    check_message(error_of(file, "t", name="new.txt"))
    numbers = file("t|x|y|1", choices=("1", "2"), text_column="0", label_column="3")
    assert "--choice_labels=name: " in error_of(make_choice_examples, numbers, "name")


def test_file_to_predict(file):
    table = file("text|a|b|c", "t|x|y|z", needs_label=False)
    assert make_choice_examples(table, "0") == [ChoiceExample("train-0", "t", ("x", "y", "z"), None)]
    assert describe_choices(make_choice_examples(table, "0")) == "1 examples of 3 endings, no labels"
    table = file("text|a|b|c|label", "t|x|y|z|?", needs_label=False)
    assert make_choice_examples(table, "0", needs_label=False)[0].label is None


def test_dev_split_has_equal_shares_of_labels():
    rows = [ChoiceExample(str(n), "t", ("x", "y"), n % 2) for n in range(40)]
    train, dev = split_dev(rows, HeldOut(0.25), 1, MULTIPLE_CHOICE)
    assert sorted([*train, *dev], key=lambda row: int(row.guid)) == rows
    assert [sum(row.label == place for row in dev) for place in (0, 1)] == [5, 5]


SWAG = ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3"
ROW = '0,lsmdc1052,3,"A man sits, then stands. He","A man sits, then stands.",He,gold,runs,walks,is lost,sits down'


def read_swag(folder, split, *lines):
    layout = find_task("swag").splits[split][0]
    write_rows(folder / layout.file, lines)
    return make_choice_examples(read_choice_file(str(folder / layout.file), split, layout, "data_dir"), "0")


def test_swag(tmp_path):
    endings = ("He runs", "He walks", "He is lost", "He sits down")
    for split, file in (("train", "train.csv"), ("dev", "val.csv")):
        expected = [ChoiceExample(f"{split}-0", "A man sits, then stands.", endings, 3)]
        assert read_swag(tmp_path, split, f"{SWAG},label", f"{ROW},3") == expected
        assert (tmp_path / file).exists()
    # This file has no row numbers and no labels.
    expected = [ChoiceExample("test-0", "A man sits, then stands.", endings, None)]
    assert read_swag(tmp_path, "test", SWAG.removeprefix(","), ROW.removeprefix("0,")) == expected
    check_message(
        error_of(read_swag, tmp_path, "train", f"{SWAG},label".replace("ending3", "ending"), f"{ROW},3"),
        f"{tmp_path}/train.csv:1: ",
    )
    check_message(error_of(read_swag, tmp_path, "dev", f"{SWAG},label", f"{ROW},3", f"{ROW},4"), ":3: ")


def test_real_files(shared):
    counts = {}
    for split in ("train", "dev", "test"):
        columns = Columns(text_column="1", label_column="6")
        path = str(shared / "data" / "codah" / f"{split}.tsv")
        table = read_user_table(open_table(path, "f"), split, ColumnRules(columns, choices=("2", "3", "4", "5")))
        assert find_choice_labels(table) == "0"
        counts[split] = len(make_choice_examples(table, "0"))
    assert counts == {"train": 1665, "dev": 556, "test": 555}
