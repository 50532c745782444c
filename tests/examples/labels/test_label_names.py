"""Label names in a training file: order, errors and warnings."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.labels.label_names import find_label_names, natural_key, warn_about_few_rows
from bert_cli.problem_types.columns import LabelCells
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.multi_label import MULTI_LABEL
from tests.examples.labels.cells import column
from tests.snapshots import check_message, raises


def test_labels_in_natural_order():
    names = ("grade 10", "grade 2", "b", "-1", "a", "3.5", "20")
    labels = find_label_names(column(*names, *names), SINGLE_LABEL)
    assert labels == ("-1", "3.5", "20", "a", "b", "grade 2", "grade 10")


def test_label_with_too_many_digits_is_a_word():
    many = "9" * 5000
    assert sorted([f"b{many}", "b10", "b9"], key=natural_key) == ["b9", "b10", f"b{many}"]


def test_sign_for_a_missing_label_is_refused():
    with raises(InputError, "t.csv:3: "):
        find_label_names(column("yes", "-", "no", "-", "yes", "no"), SINGLE_LABEL)
    with raises(InputError, "t.csv:4: "):
        find_label_names(column(("a", "b"), ("a",), ("?",)), MULTI_LABEL)


def test_words_for_a_missing_label_have_a_warning(caplog):
    find_label_names(column("nan", "x", "nan", "x"), SINGLE_LABEL)
    check_message(caplog, "t.csv: ")


@pytest.mark.parametrize("name", ["pos\nitive", "a\r\nb", "a\rb"])
def test_line_end_in_a_label_is_refused(name):
    with pytest.raises(
        InputError, match=r"^t.csv:3: the label 'a?(pos)?\\[rn].* has a line end; replace it by a space$"
    ):
        find_label_names(column("neg", name, "neg", name), SINGLE_LABEL)


def test_characters_that_labels_txt_cannot_hold():
    with raises(InputError, "t.csv:3: "):
        find_label_names(column("neg", "a\0b"), SINGLE_LABEL)
    cells = LabelCells("t.csv", [2, 3], [("0", "1"), ("1", "0")], ("rude", "very\nrude"), True)
    with raises(InputError, "t.csv:1: "):
        find_label_names(cells, MULTI_LABEL)


def intents(count, rows=1):
    return [f"intent {number}" for number in range(count)] * rows


@pytest.mark.parametrize("labels", [intents(300), intents(30), [(name,) for name in intents(200)]])
def test_many_labels_on_few_rows_are_labels(caplog, labels):
    """One row per label gives a warning and no error: answers to frequent questions occur once."""
    problem_type = MULTI_LABEL if isinstance(labels[0], tuple) else SINGLE_LABEL
    assert len(find_label_names(column(*labels), problem_type)) == len(labels)
    assert len(caplog.messages) == 1
    check_message(caplog, "t.csv:2: ")


@pytest.mark.parametrize(
    "text", ["The boat number {} sank.", "船{}号沉了。", "we have seen {} boats on the lake today"]
)
def test_texts_instead_of_labels_are_refused(text):
    texts = [text.format(number) for number in range(30)]
    with raises(InputError, "t.csv:2: "):
        find_label_names(column(*texts, *texts[:3]), SINGLE_LABEL)
    # Repeated sentences are class names.
    assert len(find_label_names(column(*texts * 2), SINGLE_LABEL)) == 30


@pytest.mark.parametrize(("num_labels", "num_rows", "warns"), [(20, 20, False), (21, 104, True), (21, 105, False)])
def test_few_rows_per_label_have_one_warning(caplog, num_labels, num_rows, warns):
    warn_about_few_rows("t.csv", num_labels, num_rows)
    assert [message[:32] for message in caplog.messages] == [
        f"t.csv: warning: {num_labels} labels in {num_rows}"
    ] * warns


def test_labels_that_look_the_same_have_one_warning(caplog):
    find_label_names(column("Good", "good", "bad", "bad", "good"), SINGLE_LABEL)
    assert len(caplog.messages) == 1
    check_message(caplog.messages[0], "t.csv: ")
