"""Labels that are indices of given names."""

import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.labels.reading import FileRole, read_labels
from bert_cli.examples.task_files import read_examples
from bert_cli.problem_types.registry import MULTI_LABEL, SINGLE_LABEL
from bert_cli.reading.source import Source
from tests.examples.labels.cells import column
from tests.rows import tabbed, write_rows
from tests.snapshots import check_message, raises

TRAIN, DEV = FileRole(True, False, False), FileRole(False, False, False)


@pytest.mark.parametrize(
    ("cells", "names", "labels"),
    [
        (("1", "0", "1"), ("neg", "pos"), ["pos", "neg", "pos"]),
        (("2.0", "0.0", "1.0"), ("bad", "so so", "good"), ["good", "bad", "so so"]),
        ((("3",), ("0",)), ("World", "Sports", "Business", "Sci/Tech"), ["Sci/Tech", "World"]),
    ],
)
def test_single_labels(cells, names, labels, caplog):
    with caplog.at_level(logging.INFO):
        assert read_labels(column(*cells), None, names, TRAIN)[:3] == (SINGLE_LABEL, names, labels)
    check_message(caplog, "t.csv: its labels are indices of names: 0")


def test_several_labels():
    names = ("toxic", "rude", "insult")
    read = read_labels(column(("0", "2"), (), ("1",)), None, names, TRAIN)
    assert read[:3] == (MULTI_LABEL, names, [(1, 0, 1), (0, 0, 0), (0, 1, 0)])
    separated = read_labels(column("0;2", "", "1", separator=";"), MULTI_LABEL, names, TRAIN)
    assert separated.rows == read.rows


def test_a_dev_file_may_lack_the_first_label():
    assert read_labels(column("1", "1"), SINGLE_LABEL, ("neg", "pos"), DEV).rows == ["pos", "pos"]


def test_numbers_and_flags_are_no_indices():
    assert read_labels(column("1", "2"), None, ("2", "1"), TRAIN).rows == ["1", "2"]
    assert read_labels(column("0", "1"), MULTI_LABEL, ("toxic",), TRAIN).rows == [(0,), (1,)]
    flags = column(("0", "1", "0"), ("1", "1", "0"))
    assert read_labels(flags, None, ("a", "b", "c"), TRAIN).rows == [(0, 1, 0), (1, 1, 0)]


@pytest.mark.parametrize(
    ("cells", "names"), [(("1", "2"), ("neg", "pos")), (("1", "2"), ("a", "b", "c")), (("0", "1", "7"), ("neg", "pos"))]
)
def test_indices_without_a_name_or_from_one_are_refused(cells, names):
    with raises(InputError, "t.csv:"):
        read_labels(column(*cells), None, names, TRAIN)


def test_names_and_indices_are_not_mixed():
    with raises(InputError, "t.csv:3: label '0' is not among"):
        read_labels(column("neg", "0"), None, ("neg", "pos"), TRAIN)


def test_a_task_has_indices_of_given_names_only(tmp_path):
    path = write_rows(tmp_path / "train.tsv", tabbed("a|1||It was good.", "b|0||It was bad."))
    examples = read_examples("cola", "train", Source(str(path)), ("neg", "pos")).examples
    assert [example.label for example in examples] == ["pos", "neg"]
    # Other programs number the labels of MNLI in another order.
    rows = ["\t".join([*"0123456789"[:8], "A.", "B.", *"1111", label]) for label in ("2", "0", "1")]
    path = write_rows(tmp_path / "dev_matched.tsv", ["\t".join(f"c{number}" for number in range(15)), *rows])
    with pytest.raises(InputError, match="is not among"):
        read_examples("mnli", "dev", Source(str(path)), ("contradiction", "entailment", "neutral"))
