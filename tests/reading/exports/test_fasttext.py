"""fastText's lines with labels."""

import gzip

import pytest

from bert_cli.base.errors import InputError
from tests.reading.exports.labeled import read_labeled, read_table
from tests.snapshots import raises


@pytest.mark.parametrize(
    "name", ["train.txt", "cooking.train", "cooking.valid", "a.ft", "a.tsv", "a.csv", "train.txt.gz"]
)
def test_one_label(name, tmp_path):
    text = "__label__pos A fine film .\n\n__label__neg  Dull , and long .\n__label__pos so\tso\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    expected = [("A fine film .", "pos"), ("Dull , and long .", "neg"), ("so\tso", "pos")]
    assert read_labeled(path) == ("single_label", expected)
    assert [row.line for row in read_table(path).rows] == [1, 3, 4]


def test_several_labels_anywhere(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text(
        "__label__a __label__b-c text\n__label__a more __label__b-c text\nno label\n__label__a x__label__y\n"
    )
    expected = [("text", (1, 1)), ("more text", (1, 1)), ("no label", (0, 0)), ("x__label__y", (1, 0))]
    assert read_labeled(path) == ("multi_label", expected)


def test_labels_of_a_file_to_predict_are_no_text(tmp_path):
    (tmp_path / "t.txt").write_text("__label__a one\n__label__b two\n")
    assert [row.text_a for row in read_table(tmp_path / "t.txt", needs_label=False).rows] == ["one", "two"]


def test_a_table_keeps_its_columns(tmp_path):
    (tmp_path / "t.tsv").write_text(
        "__label__a\tone fine day\n__label__b\ttwo bad days\n__label__a\tx y\n__label__b\tz z\n"
    )
    assert read_labeled(tmp_path / "t.tsv", text_column="1", label_column="0")[1][0] == ("one fine day", "__label__a")


def test_a_label_without_a_name_is_refused(tmp_path):
    (tmp_path / "t.txt").write_text("__label__a one\n__label__ two\n")
    with raises(InputError, "t.txt:2: "):
        read_table(tmp_path / "t.txt")
