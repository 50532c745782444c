"""Unlabeled rows, and labels that mark a missing label."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.labels.unlabeled import (
    MissingMarkers,
    check_markers,
    drop_unlabeled,
    find_labeled_rows,
    find_markers,
    find_missing_names,
    warn_about_markers,
)
from bert_cli.problem_types.columns import LabelCells
from tests.snapshots import check_message, raises


def column(*labels, columns=("label",)):
    rows = [label if isinstance(label, tuple) and len(columns) > 1 else (label,) for label in labels]
    return LabelCells("t.csv", range(2, 2 + len(labels)), rows, columns, True)


def counts(*labels, **more):
    return dict.fromkeys(labels, 10) | more


@pytest.mark.parametrize("sign", ["-", "--", "?", "—"])
@pytest.mark.parametrize("other_labels", [("entailment", "neutral"), ("0", "1")])
def test_sign_among_words_or_digits_is_not_a_label(sign, other_labels):
    assert find_markers(counts(*other_labels, sign)) == MissingMarkers((sign,), (), ())


@pytest.mark.parametrize("labels", [("+", "-"), ("+", "-", "="), (".", "?", "!"), ("O", ".", "?"), ("-", "?")])
def test_sign_among_signs_is_a_class(labels):
    assert find_markers(counts(*labels)).signs == ()


def test_words_for_a_missing_label():
    labels = ("good", "nan", "NaN", "<NA>", "N/A", "#N/A", "null", "Unlabeled", "unlabelled", "no label")
    assert find_markers(counts(*labels)).words == labels[1:]


def test_names_that_may_be_classes():
    assert find_markers(counts("favor", "against", "none", "NA")).doubtful == ("none", "NA")


@pytest.mark.parametrize(
    ("labels", "is_doubtful"),
    [
        ({"0": 9, "1": 9, "2": 9, "-1": 9}, True),
        ({"0": 90, "1": 70, "-1": 3}, True),
        ({"-1": 9, "0": 9, "1": 9}, False),
        ({"-1": 9, "1": 9}, False),
        ({"-2": 9, "-1": 9, "0": 9, "1": 9, "2": 9}, False),
        ({"good": 9, "-1": 9}, False),
    ],
)
def test_minus_one_among_class_indices(labels, is_doubtful):
    assert find_markers(labels).doubtful == ("-1",) * is_doubtful


def test_sign_is_refused_with_two_proposals():
    with raises(InputError, "t.jsonl:7: "):
        check_markers("t.jsonl", {"no": 5, "yes": 5, "-": 3}, {"no": 2, "yes": 3, "-": 7}, skips_unlabeled=False)


def test_advice_has_no_names_with_commas():
    with raises(InputError, "--labels"):
        check_markers("t.jsonl", {"a,b": 5, "yes": 5, "?": 3}, {"a,b": 2, "yes": 3, "?": 7}, skips_unlabeled=False)


def test_words_have_a_warning(caplog):
    warn_about_markers("t.csv", counts("good", "bad", "nan", "none"), skips_unlabeled=False)
    check_message(caplog)


def test_names_that_the_flag_keeps_have_a_warning(caplog):
    warn_about_markers("t.csv", counts("favor", "against", "none"), skips_unlabeled=True)
    check_message(caplog.messages[0])


def test_usual_labels_have_no_warning(caplog):
    warn_about_markers("t.csv", counts("0", "1", "2", "nine", "nano", "a-b", "no", "other"), skips_unlabeled=False)
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("labels", "rows"),
    [
        (("a", "", "b", ""), [0, 2]),
        (("a", "-", "b", "?"), [0, 2]),
        (("a", "nan", "b", "Null"), [0, 2]),
        (("favor", "", "none", "NA"), [0, 2, 3]),  # only the empty cell is a missing label
        (("favor", "against", "none", "NA"), [0, 1]),
        (("0", "2", "-1"), [0, 1]),
        (("0", "2", "-1", ""), [0, 1, 2]),
        ((("a",), (), ("a", "b"), ("-",)), [0, 2]),
        (("+", "-"), [0, 1]),
    ],
)
def test_labeled_rows(labels, rows):
    assert find_labeled_rows(column(*labels), None) == rows


def test_model_labels_are_never_missing():
    cells = column("yes", "none", "-", "-1", "")
    assert find_labeled_rows(cells, ("yes", "none")) == [0, 1]
    assert find_labeled_rows(cells, ("yes", "-")) == [0, 2]


def test_minus_one_is_a_number_in_regression():
    assert find_labeled_rows(column("-1", "NA", "2.5", "", "-"), ()) == [0, 2]


def test_row_with_several_columns_is_unlabeled_if_all_cells_are():
    cells = column(("1", "0"), ("-1", "-1"), ("", ""), ("0", ""), columns=("rude", "loud"))
    assert find_labeled_rows(cells, ("rude", "loud")) == [0, 3]


def test_rows_that_are_left_out_are_counted():
    labeled = drop_unlabeled(column("a", "-", "", "b", "-"), None)
    assert labeled.rows == [0, 3]
    assert list(map(str, labeled.left_out)) == ["rows without a label (3: 2 '-', 1 empty; the first is line 3)"]


def test_file_without_unlabeled_rows():
    assert drop_unlabeled(column("a", "b"), None) == ([0, 1], ())


def test_file_without_labels_is_an_error():
    with raises(InputError, "t.csv:2: "):
        drop_unlabeled(column("", ""), None)


def test_names_that_the_flag_skips():
    assert find_missing_names(counts("a", "b", "-", "none"), has_empty=False) == {"-"}
    assert find_missing_names(counts("a", "b", "none"), has_empty=False) == {"none"}
    assert find_missing_names(counts("a", "b", "none"), has_empty=True) == set()
