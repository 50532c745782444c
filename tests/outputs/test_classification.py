"""Bytes of test_results.tsv, predictions.tsv and eval_results.txt."""

import ast
import csv
import json

import numpy as np
import pandas
import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.labels.reading import FileRole, read_labels
from bert_cli.examples.user_tables import read_user_table
from bert_cli.outputs.classification import text_columns, write_table, write_test_results
from bert_cli.outputs.eval_results import write_eval_results
from bert_cli.problem_types.columns import TextColumn
from bert_cli.problem_types.parts import LabelSet
from bert_cli.problem_types.registry import MULTI_LABEL, MULTIPLE_CHOICE, REGRESSION, SINGLE_LABEL
from bert_cli.reading.columns.roles import ColumnRules
from bert_cli.reading.probe import open_table
from bert_cli.settings.data import CSV_QUOTES, LITERAL, TextForm

PROBABILITIES = np.array([[0.7757962, 0.22420382], [1.234e-05, 0.99998766], [1.0, 0.0]], np.float32)


def write_predictions(path, ids, texts, names, probabilities, output_format="tsv"):
    columns = SINGLE_LABEL.columns.prediction_columns({"probabilities": probabilities}, LabelSet(tuple(names)))
    write_table(path, {"id": TextColumn(ids), **columns, **text_columns(texts)}, output_format)


def write_multi_label(path, ids, texts, names, probabilities, thresholds, output_format="tsv"):
    columns = MULTI_LABEL.columns.prediction_columns(
        {"probabilities": probabilities}, LabelSet(tuple(names), thresholds)
    )
    write_table(path, {"id": TextColumn(ids), **columns, **text_columns(texts)}, output_format)


def write_values(path, ids, texts, values, output_format="tsv"):
    columns = REGRESSION.columns.prediction_columns({"values": values}, LabelSet())
    write_table(path, {"id": TextColumn(ids), **columns, **text_columns(texts)}, output_format)


def test_test_results(tmp_path):
    path = tmp_path / "test_results.tsv"
    write_test_results(str(path), PROBABILITIES)
    assert path.read_bytes() == b"0.7757962\t0.22420382\n1.234e-05\t0.99998766\n1.0\t0.0\n"


def test_test_results_round_float64_to_float32(tmp_path):
    path = tmp_path / "test_results.tsv"
    write_test_results(str(path), np.array([[0.1, 0.9]]))
    assert path.read_bytes() == b"0.1\t0.9\n"


@pytest.mark.parametrize(
    ("home", "task"),
    [("shared", "cola"), ("shared", "mrpc"), ("shared", "mnli"), ("fixtures", "cola"), ("fixtures", "mrpc")],
)
def test_test_results_equal_the_originals_bytes(home, request, tmp_path, task):
    golden = request.getfixturevalue(home) / "golden/classifier" / task / "test_results.tsv"
    path = tmp_path / "test_results.tsv"
    write_test_results(str(path), np.loadtxt(golden, dtype=np.float32, delimiter="\t"))
    assert path.read_bytes() == golden.read_bytes()


def test_predictions_of_single_texts(tmp_path):
    path = tmp_path / "predictions.tsv"
    texts = [("Tea", None), ("", None), ('"Milk', None)]
    write_predictions(str(path), ["test-1", "test-2", "test-3"], texts, ["no", "yes"], PROBABILITIES)
    assert path.read_bytes() == (
        b"id\tlabel\tprob_no\tprob_yes\ttext\n"
        b"test-1\tno\t0.7757962\t0.22420382\tTea\n"
        b"test-2\tyes\t1.234e-05\t0.99998766\t\n"
        b'test-3\tno\t1.0\t0.0\t"""Milk"\n'
    )


def test_predictions_of_pairs(tmp_path):
    path = tmp_path / "predictions.tsv"
    write_predictions(str(path), ["a", "b"], [("Tea", "Milk"), ("Rum", "")], ["0", "1"], PROBABILITIES[:2])
    assert path.read_text(encoding="utf-8").split("\n") == [
        "id\tlabel\tprob_0\tprob_1\ttext\ttext_b",
        "a\t0\t0.7757962\t0.22420382\tTea\tMilk",
        "b\t1\t1.234e-05\t0.99998766\tRum\t",
        "",
    ]


def test_predictions_without_examples(tmp_path):
    path = tmp_path / "predictions.tsv"
    write_predictions(str(path), [], [], ["0", "1"], np.zeros((0, 2), np.float32))
    assert path.read_bytes() == b"id\tlabel\tprob_0\tprob_1\ttext\n"


HARD_TEXTS = [
    '"a lone quote',
    'and one at the end"',
    '""',
    'quotes "and\ttabs" and\nline\r\nends"',
    "commas, too,",
    "nul\x00",
    'one " quote',
    '"whole"',
    "'",
    "NA",
    "null",
    "",
    "  blanks  ",
    "#",
    "a\u2028b\u2029c",
    "a\x85b",
    "a\x0bb\x0cc\x1cd",
    "back\\slash\\n",
    "1.50",
    "комета 😀",
    "\ufeffmark",
]


SEPARATORS = {"tsv": "\t", "csv": ","}
SPACES = str.maketrans("\t\n\r", "   ")


@pytest.fixture(params=SEPARATORS)
def hard_table(request, tmp_path):
    """Return path, separator, and the written columns: ids, texts and probabilities."""
    path = tmp_path / "predictions"
    probabilities = np.random.default_rng(5).dirichlet([1, 1], len(HARD_TEXTS)).astype(np.float32)
    ids = [f"test-{number}" for number in range(len(HARD_TEXTS))]
    write_predictions(str(path), ids, [(text, None) for text in HARD_TEXTS], ["0", "1"], probabilities, request.param)
    return path, SEPARATORS[request.param], ids, [text.translate(SPACES) for text in HARD_TEXTS], probabilities


def as_read_by_pandas(texts):
    """Return texts as pandas' C parser reads them: before version 3.1 it cuts a text at NUL."""
    keeps_nul = tuple(int(number) for number in pandas.__version__.split(".")[:2]) >= (3, 1)
    return texts if keeps_nul else [text.partition("\0")[0] for text in texts]


@pytest.mark.parametrize("engine", ["c", "python"])
def test_pandas_reads_predictions(hard_table, engine):
    path, separator, ids, texts, probabilities = hard_table
    table = pandas.read_csv(path, sep=separator, keep_default_na=False, engine=engine)
    assert table["text"].tolist() == (as_read_by_pandas(texts) if engine == "c" else texts)
    assert table["id"].tolist() == ids
    assert table["label"].tolist() == probabilities.argmax(axis=1).tolist()
    assert (table[["prob_0", "prob_1"]].to_numpy(np.float32) == probabilities).all()


def test_csv_reads_predictions(hard_table):
    path, separator, ids, texts, _ = hard_table
    with open(path, encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file, delimiter=separator)
    assert header == ["id", "label", "prob_0", "prob_1", "text"]
    assert [(row[0], row[-1]) for row in rows] == list(zip(ids, texts, strict=True))


def test_each_row_is_one_line(hard_table):
    assert hard_table[0].read_bytes().count(b"\n") == len(HARD_TEXTS) + 1


def test_pandas_without_options_loses_no_row(hard_table):
    """pandas reads an empty text, NA and null as missing values. All other texts are unchanged."""
    path, separator, _, texts, _ = hard_table
    read_texts = pandas.read_csv(path, sep=separator)["text"]
    expected = [None if text in ("", "NA", "null") else text for text in as_read_by_pandas(texts)]
    assert [None if pandas.isna(text) else text for text in read_texts] == expected


def test_quotes_are_only_used_if_needed(tmp_path):
    path = tmp_path / "predictions"
    texts = [("a,b", None), ("it's", None), ('say "x"', None)]
    for output_format, cells in (
        ("tsv", [b"a,b", b"it's", b'"say ""x"""']),
        ("csv", [b'"a,b"', b"it's", b'"say ""x"""']),
    ):
        write_predictions(str(path), ["1", "2", "3"], texts, ["0", "1"], PROBABILITIES, output_format)
        separator = SEPARATORS[output_format].encode()
        assert [line.split(separator, 4)[4] for line in path.read_bytes().split(b"\n")[1:4]] == cells


def test_predictions_as_json_lines(tmp_path):
    path = tmp_path / "predictions.jsonl"
    texts = [('a\t"b"\n', "c\u2028"), ("", None)]
    write_predictions(str(path), ["7", "8"], texts, ["no", "yes"], PROBABILITIES[:2], "jsonl")
    assert path.read_text(encoding="utf-8") == (
        '{"id": "7", "label": "no", "probabilities": {"no": 0.7757962, "yes": 0.22420382}, '
        '"text": "a\\t\\"b\\"\\n", "text_b": "c\u2028"}\n'
        '{"id": "8", "label": "yes", "probabilities": {"no": 1.234e-05, "yes": 0.99998766}, "text": "", "text_b": null}\n'
    )


def test_predictions_of_several_labels(tmp_path):
    path, texts = tmp_path / "predictions", [("Tea", None), ("Milk", None), ("Rum", None)]
    probabilities = np.array([[0.75, 0.25, 0.5], [0.1, 0.2, 0.3], [0.5, 0.9, 0.1]], np.float32)
    columns = (["1", "2", "3"], texts, ["hot", "sweet", "old"], probabilities, np.array([0.5, 0.25, 0.6]))
    write_multi_label(str(path), *columns)
    assert path.read_bytes() == (
        b"id\tlabels\tprob_hot\tprob_sweet\tprob_old\ttext\n"
        b"1\thot,sweet\t0.75\t0.25\t0.5\tTea\n"
        b"2\t\t0.1\t0.2\t0.3\tMilk\n"
        b"3\thot,sweet\t0.5\t0.9\t0.1\tRum\n"
    )
    write_multi_label(str(path), *columns, "csv")
    assert path.read_bytes().split(b"\n")[1] == b'1,"hot,sweet",0.75,0.25,0.5,Tea'
    write_multi_label(str(path), *columns, "jsonl")
    assert [json.loads(line)["labels"] for line in path.read_text().splitlines()] == [
        ["hot", "sweet"], [], ["hot", "sweet"],
    ]  # fmt: skip
    write_test_results(str(path), probabilities)
    assert path.read_bytes() == b"0.75\t0.25\t0.5\n0.1\t0.2\t0.3\n0.5\t0.9\t0.1\n"


def test_predictions_of_values(tmp_path):
    path, values = tmp_path / "predictions", np.array([3.1, -0.25], np.float32)
    texts = [("Tea", "Milk"), ("Rum", "Ale")]
    write_values(str(path), ["1", "2"], texts, values)
    assert path.read_bytes() == b"id\tvalue\ttext\ttext_b\n1\t3.1\tTea\tMilk\n2\t-0.25\tRum\tAle\n"
    write_values(str(path), ["1", "2"], texts, values, "jsonl")
    assert path.read_text().split("\n")[0] == '{"id": "1", "value": 3.1, "text": "Tea", "text_b": "Milk"}'
    write_test_results(str(path), values)
    assert path.read_bytes() == b"3.1\n-0.25\n"


def test_predictions_of_choices(tmp_path):
    path, probabilities = tmp_path / "predictions", np.array([[0.2, 0.7, 0.1], [0.5, 0.25, 0.25]], np.float32)
    columns = MULTIPLE_CHOICE.columns.prediction_columns({"probabilities": probabilities}, LabelSet())
    texts = {"text": TextColumn(["Tea", "Rum"]), "ending": TextColumn(["b", "d\te"])}
    write_table(str(path), {"id": TextColumn(["1", "2"]), **columns, **texts}, "tsv")
    assert path.read_bytes() == (
        b"id\tlabel\tprob_0\tprob_1\tprob_2\ttext\tending\n"
        b"1\t1\t0.2\t0.7\t0.1\tTea\tb\n"
        b"2\t0\t0.5\t0.25\t0.25\tRum\td e\n"
    )


def test_nan_is_refused(tmp_path):
    path, texts = tmp_path / "predictions", [("Tea", None)]
    with pytest.raises(InputError, match="the model gives NaN"):
        write_predictions(str(path), ["1"], texts, ["0", "1"], np.array([[np.nan, 0.5]], np.float32))
    with pytest.raises(InputError, match="the model gives NaN"):
        write_values(str(path), ["1"], texts, np.array([np.nan], np.float32))
    assert not path.exists()


def test_characters_that_would_break_a_row_become_spaces(tmp_path):
    path = tmp_path / "predictions.tsv"
    write_predictions(str(path), ["a"], [("x\ty\nz\r\nw", None)], ["0", "1"], PROBABILITIES[:1])
    assert path.read_bytes().split(b"\n")[1:] == [b"a\t0\t0.7757962\t0.22420382\tx y z  w", b""]


def test_a_missing_text_keeps_the_old_file(tmp_path):
    path = tmp_path / "predictions.tsv"
    path.write_text("old")
    with pytest.raises(ValueError, match="shorter"):
        write_predictions(str(path), ["a", "b"], [("x", None)], ["0", "1"], PROBABILITIES[:2])
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["predictions.tsv"]


def test_eval_results(tmp_path):
    path = tmp_path / "eval_results.txt"
    results = {
        "loss": np.float32(0.8917705),
        "eval_accuracy": np.float32(12 / 34),
        "global_step": 7,
        "eval_loss": np.float32(0.94299555),
    }
    write_eval_results(str(path), results)
    assert path.read_bytes() == (
        b"eval_accuracy = 0.3529412\neval_loss = 0.94299555\nglobal_step = 7\nloss = 0.8917705\n"
    )


@pytest.mark.parametrize("output_format", ["tsv", "csv"])
@pytest.mark.parametrize(
    "names",
    [
        ("Food, drink", "Food", "drink"),
        ("news,politics", "it's, well", "x"),
        ("a,b", 'the "new", one', "\u98df\u7269, \u9152"),
        ("rude", "loud", "it's"),
    ],
)
def test_labels_with_commas_are_read_again(names, output_format, tmp_path):
    path = tmp_path / f"predictions.{output_format}"
    probabilities = np.array([[0.9, 0.8, 0.1], [0.1, 0.2, 0.9], [0.1, 0.2, 0.3], [0.9, 0.1, 0.9]], np.float32)
    expected = [(1, 1, 0), (0, 0, 1), (0, 0, 0), (1, 0, 1)]
    texts = [(text, None) for text in ("a, b", "c", "d", "e")]
    write_multi_label(str(path), list("wxyz"), texts, names, probabilities, [0.5] * 3, output_format)
    form = TextForm(quoting=CSV_QUOTES if output_format == "tsv" else LITERAL)
    table = read_user_table(open_table(str(path), "train_file", form), "train", ColumnRules())
    has_commas = any("," in name for name in names)
    read = read_labels(table.label_cells(None if has_commas else ","), MULTI_LABEL, names, FileRole(True, False, False))
    assert (read.names, read.rows) == (names, expected)
    frame = pandas.read_csv(path, sep="\t" if output_format == "tsv" else ",", keep_default_na=False)
    if has_commas:
        assert list(map(ast.literal_eval, frame["labels"])) == [
            [name for name, is_present in zip(names, row, strict=True) if is_present] for row in expected
        ]
    else:
        assert list(frame["labels"]) == ["rude,loud", "it's", "", "rude,it's"]
