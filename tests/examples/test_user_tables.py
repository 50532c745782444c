"""User tables as examples: rows, problem types and labels, and errors with line numbers."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.labels.label_names import find_label_names
from bert_cli.examples.labels.reading import FileRole, read_labels
from bert_cli.examples.user_tables import make_examples, read_user_table
from bert_cli.problem_types.registry import MULTI_LABEL, PROBLEM_TYPES, REGRESSION, SINGLE_LABEL
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.probe import open_table
from bert_cli.settings.data import Columns
from tests.input_errors import error_of
from tests.rows import tabbed, write_rows
from tests.snapshots import check_message, raises


@pytest.fixture
def file(tmp_path):
    """Return a function that writes lines to a file, with | as a tab, and reads them as a UserTable."""

    def read(*lines: str, name="train.tsv", split="train", needs_label=True, **columns):
        table = open_table(str(write_rows(tmp_path / name, tabbed(*lines))), "train_file")
        return read_user_table(table, split, ColumnRules(Columns(**columns), needs_label=needs_label))

    return read


def examples(file, label_separator=None, problem_type=None):
    """Return a training table's problem type name, labels, and examples as tuples."""
    chosen = PROBLEM_TYPES[problem_type] if problem_type else None
    labels = read_labels(file.label_cells(label_separator), chosen, None, FileRole(True, False, False))
    table_examples = make_examples(file, labels.rows)
    return (
        labels.problem_type.name,
        labels.names,
        [(example.guid, example.text_a, example.text_b, example.label) for example in table_examples],
    )


def parse(file, problem_type, labels):
    return problem_type.reader.parse(file.label_cells(None), labels)


def test_one_label(file):
    table = file("key|text|stars", "a|fine|10", "b|bad|2 ", "|so so|10", "d|worse|2", id_column="key")
    assert examples(table) == (
        "single_label",
        ("2", "10"),
        [
            ("a", "fine", None, "10"),
            ("b", "bad", None, "2"),
            ("train-2", "so so", None, "10"),
            ("d", "worse", None, "2"),
        ],
    )


def test_pairs(file):
    table = file("premise|hypothesis|label", "A.|B.|yes", "C.|D.|no")
    assert examples(table)[2][1] == ("train-1", "C.", "D.", "no")


def test_columns_of_0_and_1(file):
    table = file("text|rude|loud", "a|1|0", "b|0|0", label_column="rude,loud")
    assert examples(table) == (
        "multi_label",
        ("rude", "loud"),
        [("train-0", "a", None, (1, 0)), ("train-1", "b", None, (0, 0))],
    )
    # pandas.get_dummies writes booleans, and databases write floats.
    other_spellings = file("text|rude|loud", "a|True|False", "b|0.0|0.0", label_column="rude,loud")
    assert examples(other_spellings) == examples(table)
    # Another file may have a different order of columns. Names decide.
    other_table = file("loud|text|rude", "1|a|0", label_column="loud,rude")
    assert parse(other_table, MULTI_LABEL, ("rude", "loud")) == [(0, 1)]
    wrong = file("text|rude|loud", "a|1|0", "b|-1|0", label_column="rude,loud")
    check_message(error_of(parse, wrong, MULTI_LABEL, ("rude", "loud")), ":3: ")


def test_labels_in_one_cell(file):
    table = file("text|label", "a|news, sport", "b|", "c|sport", "d|art")
    assert examples(table, ",") == (
        "multi_label",
        ("art", "news", "sport"),
        [("train-0", "a", None, (0, 1, 1)), ("train-1", "b", None, (0, 0, 0)), ("train-2", "c", None, (0, 0, 1)),
         ("train-3", "d", None, (1, 0, 0))],
    )  # fmt: skip


def test_lists_of_labels(file):
    table = file('{"text": "a", "labels": ["x", "y"]}', '{"text": "b", "labels": ["y"]}', name="a.jsonl")
    assert examples(table)[:2] == ("multi_label", ("x", "y"))
    assert [row[3] for row in examples(table)[2]] == [(1, 1), (0, 1)]


def test_decimals_are_ambiguous(file):
    table = file("text|score", "a|1", "b|2.5")
    check_message(error_of(examples, table), "train.tsv:3: ")
    assert examples(table, problem_type="regression")[1] == ()
    assert [row[3] for row in examples(table, problem_type="regression")[2]] == ["1", "2.5"]
    assert examples(table, problem_type="single_label")[1] == ("1", "2.5")
    for cell in ("high", "nan", ""):
        wrong = file("text|score", "a|1", f"b|{cell}")
        check_message(error_of(parse, wrong, REGRESSION, ()), ":3: ")


def test_several_columns_for_a_single_label(file):
    table = file("text|rude|loud", "a|1|0", label_column="rude,loud")
    message = error_of(parse, table, REGRESSION, ())
    assert message.startswith("--problem_type=regression: ")


@pytest.mark.parametrize(
    ("lines", "fragment"),
    [
        (["text|label", "a|x", "b|x"], "--label_column"),
        (["text|label", "a|", "b|"], ""),
        (["text|label", *(f"a|Sentence {n}." for n in range(30))], "30 different"),
    ],
)
def test_invalid_labels(file, lines, fragment):
    check_message(error_of(find_label_names, file(*lines).label_cells(None), SINGLE_LABEL), fragment)


def test_a_label_with_one_row(file, caplog):
    table = file("text|label", "a|positive", "b|positive", "c|positve", "d|negative", "e|negative")
    assert find_label_names(table.label_cells(None), SINGLE_LABEL) == ("negative", "positive", "positve")
    check_message(caplog, "train.tsv:4: ")
    assert caplog.text.count("occurs only once") == 1


def test_label_that_is_not_in_the_training_data(file):
    table = file("text|label", "a|x", "b|z", "c|z", name="dev.tsv", split="dev")
    check_message(error_of(parse, table, SINGLE_LABEL, ("x", "y")), "dev.tsv:3: ")
    assert ":3: the label is empty" in error_of(parse, file("text|label", "a|x", "b|"), SINGLE_LABEL, ("x", "y"))


def test_empty_texts_are_logged(file, caplog):
    table = file("text|label", "a|x", " |y", "|x")
    assert len(table.rows) == 3
    check_message(caplog, "train.tsv:3: ")


def test_rows_with_another_width(file):
    check_message(error_of(file, "text|label", "a|x", "b|c|y"), ":3: ")
    check_message(error_of(file, "text,label", "a,x", '"b\nc"', name="a.csv"), ":3: ")


def test_empty_files(file):
    check_message(error_of(file))
    check_message(error_of(file, needs_label=False))
    check_message(error_of(file, "text|label"))


def test_texts_to_predict(file):
    table = file("one text", "", "another, with a comma", name="new.txt", split="test", needs_label=False)
    assert make_examples(table) == [
        ClassificationExample("test-0", "one text", None, None),
        ClassificationExample("test-1", "another, with a comma", None, None),
    ]
    check_message(error_of(file, "one", "a|b", name="new.txt", needs_label=False), ":2: ")


def test_real_files(shared):
    toxic = "toxic,severe_toxic,obscene,threat,insult,identity_hate"
    read = []
    for name in (
        "train_sample.csv",
        "val_sample.csv",
    ):  # the text is before or after the labels, and quoted cells have line ends
        table = open_table(str(shared / "data/jigsaw" / name), "f")
        user_table = read_user_table(table, "x", ColumnRules(Columns(label_column=toxic)))
        labels = find_label_names(user_table.label_cells(None), MULTI_LABEL)
        read.append([sum(label[0] for label in parse(user_table, MULTI_LABEL, labels)), len(user_table.rows)])
    assert read == [[92, 1000], [77, 1000]]
    columns = Columns(text_column="1", label_column="0")
    spam = read_user_table(
        open_table(str(shared / "data/sms_spam/SMSSpamCollection.tsv"), "f"), "x", ColumnRules(columns)
    )
    assert len(spam.rows) == 5574
    assert find_label_names(spam.label_cells(None), SINGLE_LABEL) == ("ham", "spam")


@pytest.mark.parametrize("label", ["[0.2, 0.8]", "[2.5, 3.1]", '{"neg": 0.2, "pos": 0.8}'])
def test_probabilities_in_json_lines(tmp_path, label):
    path = tmp_path / "train.jsonl"
    path.write_text('{"text": "a", "label": null}\n' + f'{{"text": "b", "label": {label}}}\n' * 2)
    table = read_user_table(open_table(str(path), "train_file"), "train", ColumnRules(Columns(None, None)))
    for problem_type in (None, SINGLE_LABEL, MULTI_LABEL):
        with raises(InputError, f"{path}:2: "):
            read_labels(table.label_cells(None), problem_type, None, FileRole(True, False, False))
