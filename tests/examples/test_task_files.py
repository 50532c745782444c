"""Task files: columns, guids, labels and errors; test_task_files_header tests the header."""

import tracemalloc

import pytest

from bert_cli.examples.classification import ClassificationExample, describe_examples, find_labels
from bert_cli.examples.glue import TASKS, find_task
from bert_cli.examples.task_files import read_examples
from bert_cli.reading.rows import LeftOutRows
from tests.input_errors import error_of
from tests.rows import read_task, write_rows
from tests.snapshots import check_message, raises


@pytest.fixture
def data_dir(tmp_path):
    """Return a function that writes files, given as {name: rows or text}, and returns the directory."""

    def write(files: dict) -> str:
        for name, rows in files.items():
            write_rows(tmp_path / name, rows)
        return str(tmp_path)

    return write


COLA_TRAIN = [["s1", "1", "", "The tide came in."], ["s1", "0", "*", "Came tide the in."]]
MNLI_HEADER = ["index", "p", "pair", "genre", "b1", "b2", "p1", "p2", "sentence1", "sentence2"]


def mnli_row(index: str, text_a: str, text_b: str, *labels: str) -> list[str]:
    return [index, "0", "0n", "fiction", "(", "(", "(", "(", text_a, text_b, *labels]


def xnli_row(language: str, label: str, text_a: str, text_b: str) -> list[str]:
    return [language, label, "", "", "", "", text_a, text_b]


XNLI_HEADER = ["language", "gold_label", "b1", "b2", "p1", "p2", "sentence1", "sentence2", "promptID"]


def test_cola_train_and_dev_have_no_header(data_dir):
    folder = data_dir({"train.tsv": COLA_TRAIN, "dev.tsv": COLA_TRAIN[:1]})
    assert read_task("cola", "train", folder) == [
        ClassificationExample("train-0", "The tide came in.", None, "1"),
        ClassificationExample("train-1", "Came tide the in.", None, "0"),
    ]
    assert read_task("cola", "dev", folder) == [ClassificationExample("dev-0", "The tide came in.", None, "1")]


def test_cola_test_rows_are_numbered_from_one_and_have_no_label(data_dir):
    folder = data_dir({"test.tsv": [["index", "sentence"], ["0", "Who goes there?"], ["1", ""]]})
    assert read_task("cola", "test", folder) == [
        ClassificationExample("test-1", "Who goes there?", None, None),
        ClassificationExample("test-2", "", None, None),
    ]


def test_mrpc(data_dir):
    header = ["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"]
    row = ["1", "77", "78", "It rained.", "Rain fell."]
    folder = data_dir({f"{name}.tsv": [header, row] for name in ("train", "dev", "test")})
    for split, label in (("train", "1"), ("dev", "1"), ("test", None)):
        expected = [ClassificationExample(f"{split}-1", "It rained.", "Rain fell.", label)]
        assert read_task("MRPC", split, folder) == expected


def test_mnli_has_guids_in_the_first_and_labels_in_the_last_column(data_dir):
    folder = data_dir(
        {
            "train.tsv": [[*MNLI_HEADER, "label1", "gold_label"], mnli_row("31", "A.", "B.", "neutral", "entailment")],
            "dev_matched.tsv": [[*MNLI_HEADER, "gold_label"], mnli_row("x9", "A.", "", "contradiction")],
            "test_matched.tsv": [MNLI_HEADER, mnli_row("4", "A.", "B.")],
        }
    )
    assert read_task("mnli", "train", folder) == [ClassificationExample("train-31", "A.", "B.", "entailment")]
    assert read_task("mnli", "dev", folder) == [ClassificationExample("dev_matched-x9", "A.", "", "contradiction")]
    assert read_task("mnli", "test", folder) == [ClassificationExample("test-4", "A.", "B.", None)]


def test_xnli(data_dir):
    folder = data_dir(
        {
            "multinli/multinli.train.zh.tsv": [
                ["premise", "hypo", "label"],
                ["河水很冷", "天气", "contradictory"],
                ["甲", "乙", "neutral"],
            ],
            "xnli.dev.tsv": [
                XNLI_HEADER,
                xnli_row("ar", "neutral", "x", "y"),
                xnli_row("zh", "entailment", "甲", "乙"),
                xnli_row("zh", "neutral", "丙", "丁"),
            ],
        }
    )
    assert read_task("xnli", "train", folder) == [
        ClassificationExample("train-1", "河水很冷", "天气", "contradiction"),
        ClassificationExample("train-2", "甲", "乙", "neutral"),
    ]
    # Guids count all rows of the file, including the header and other languages.
    assert [example.guid for example in read_task("xnli", "dev", folder)] == ["dev-2", "dev-3"]


def test_xnli_dev_has_no_label_aliases(data_dir):
    folder = data_dir({"xnli.dev.tsv": [XNLI_HEADER, xnli_row("zh", "contradictory", "甲", "乙")]})
    check_message(error_of(read_task, "xnli", "dev", folder), ":2: ")


def test_xnli_without_rows_in_the_language(data_dir):
    folder = data_dir({"xnli.dev.tsv": [XNLI_HEADER, xnli_row("ar", "neutral", "x", "y")]})
    expected = f"{folder}/xnli.dev.tsv: holds no data row of language zh (in column 1) below its header; check the file"
    assert error_of(read_task, "xnli", "dev", folder) == expected


def test_xnli_has_no_test_file(data_dir):
    expected = "--do_predict: the task xnli has no test file; leave it out, or use --do_eval"
    assert error_of(read_task, "xnli", "test", data_dir({})) == expected


def test_label_orders():
    assert {name: task.labels for name, task in TASKS.items()} == {
        "cola": ("0", "1"),
        "sst-2": ("0", "1"),
        "mrpc": ("0", "1"),
        "sts-b": (),
        "qqp": ("0", "1"),
        "mnli": ("contradiction", "entailment", "neutral"),
        "qnli": ("entailment", "not_entailment"),
        "rte": ("entailment", "not_entailment"),
        "wnli": ("0", "1"),
        "ax": ("contradiction", "entailment", "neutral"),
        "xnli": ("contradiction", "entailment", "neutral"),
        "swag": ("0", "1", "2", "3"),
    }


def test_unknown_task():
    expected = (
        "--task_name: 'sst' is not a task; did you mean sst-2? The tasks are cola, sst-2, mrpc, sts-b, qqp, mnli, qnli, "
        "rte, wnli, ax, xnli, swag"
    )
    assert error_of(find_task, "sst") == expected


def test_missing_file(data_dir):
    folder = data_dir({})
    check_message(error_of(read_task, "cola", "dev", folder), f"{folder}/dev.tsv: ")


def test_short_rows(data_dir):
    folder = data_dir({"train.tsv": "s1\t1\t\tIt rained.\nbroken\ns1\t0\n"})
    check_message(error_of(read_task, "cola", "train", folder), f"{folder}/train.tsv:2: ")


@pytest.mark.parametrize("task", ["cola", "mrpc"])
def test_comma_separated_file(data_dir, task):
    folder = data_dir({"train.tsv": "id,label,mark,text\n1,0,,It rained.\n2,1,,Rain fell.\n"})
    check_message(error_of(read_task, task, "train", folder))


def test_mnli_needs_a_label_column_after_the_texts(data_dir):
    folder = data_dir({"train.tsv": [MNLI_HEADER, mnli_row("0", "A.", "neutral")]})
    check_message(error_of(read_task, "mnli", "train", folder), ":2: ")


def test_unknown_label(data_dir):
    folder = data_dir({"dev.tsv": [*COLA_TRAIN, ["s1", "x", "", "A."], ["s1", "y", "", "B."], ["s1", "x", "", "C."]]})
    check_message(error_of(read_task, "cola", "dev", folder), f"{folder}/dev.tsv:3: ")
    assert len(read_task("cola", "dev", folder, labels=["0", "1", "x", "y"])) == 5


def test_mrpc_train_allows_no_new_labels(data_dir):
    rows = [["Quality", "a", "b", "c", "d"], ["2", "1", "2", "A.", "B."]]
    assert ":2: label '2' is not among 0, 1" in error_of(read_task, "mrpc", "train", data_dir({"train.tsv": rows}))


@pytest.mark.parametrize("label", ["", "  "])
def test_empty_label(data_dir, label):
    folder = data_dir({"train.tsv": [*COLA_TRAIN, ["s1", label, "", "A."]]})
    skip = "--skip_unlabeled leaves such rows out"
    expected = f"{folder}/train.tsv:3: the label in column 2 is empty; every row needs one; {skip}"
    assert error_of(read_task, "cola", "train", folder) == expected


def test_empty_label_in_the_last_column(data_dir):
    folder = data_dir({"train.tsv": [[*MNLI_HEADER, "gold_label"], mnli_row("0", "A.", "B.", "")]})
    check_message(error_of(read_task, "mnli", "train", folder), "train.tsv:2: ")


def test_label_with_a_trailing_space(data_dir):
    folder = data_dir({"train.tsv": [*COLA_TRAIN, ["s1", "1 ", "", "A."]]})
    expected = f"{folder}/train.tsv:3: label '1 ' has a space at its end or start; remove it"
    assert error_of(read_task, "cola", "train", folder) == expected


def test_texts_in_the_label_column_are_refused(data_dir):
    rows = [[f"s{i}", f"The boat number {i} sank.", "", str(i % 2)] for i in range(30)]
    check_message(error_of(read_task, "cola", "train", data_dir({"train.tsv": rows})), "train.tsv:1: ")


def test_header_only(data_dir):
    folder = data_dir({"test.tsv": "index\tsentence\n"})
    expected = f"{folder}/test.tsv: holds no data row below its header; check the file"
    assert error_of(read_task, "cola", "test", folder) == expected


@pytest.mark.parametrize(
    "rows",
    [
        [["a1", "1", "", "It rained."], ["a1", "0", "", "Rain fell."]],
        [["id", "label", "mark", "text"], ["a1", "1", "", "It rained."], ["a2", "0", "", "Rain fell."]],
        [["a1", "3", "", "Tea"]],
        [["It rained.", "1"], ["Rain fell.", "0"]],
        [["", "id", "text"], ["0", "120", "It rained."], ["1", "121", "Rain fell."]],
    ],
    ids=["as train.tsv", "with a header", "one row", "text, label", "row numbers before the id"],
)
@pytest.mark.parametrize("header", ["auto", "yes", "no"])
def test_cola_test_file_with_labels_instead_of_texts(data_dir, rows, header):
    text = error_of(read_task, "cola", "test", data_dir({"test.tsv": rows}), header=header)
    assert "column 2 holds labels or numbers ('" in text
    assert text.endswith("where the text is expected; lay the file out as id<TAB>text under a header row")


def test_known_word_labels_instead_of_texts_are_refused(data_dir):
    folder = data_dir({"test.tsv": [["id", "label", "mark", "text"], ["a1", "good", "", "Nice."]]})
    assert "column 2 holds labels" in error_of(read_task, "cola", "test", folder, labels=["bad", "good"])


def test_texts_may_be_numbers(data_dir):
    folder = data_dir({"test.tsv": [["index", "sentence"], ["0", "42"], ["1", "7"]]})
    assert [example.text_a for example in read_task("cola", "test", folder)] == ["42", "7"]


def test_columns_after_the_text_are_ignored(data_dir):
    folder = data_dir({"test.tsv": [["id", "text", "x", "y"], ["0", "Tea", "1", "2"], ["1", "9", "1", "2"]]})
    assert [example.text_a for example in read_task("cola", "test", folder)] == ["Tea", "9"]


def train_with(labels, data_dir):
    rows = [[f"s{number}", label, "", f"Text number {number}."] for number, label in enumerate(labels)]
    return read_task("cola", "train", data_dir({"train.tsv": rows}))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "1"], ("0", "1")),
        (["1", "0"], ("0", "1")),
        (["2", "10", "0", "1", "-1"], ("-1", "0", "1", "2", "10")),
        (["spam", "ham", "ham"], ("ham", "spam")),
        (["none", "10", "9", "all"], ("9", "10", "all", "none")),
        (["1.5", "1"], ("1", "1.5")),
        (["2", "1"], ("1", "2")),
    ],
)
def test_labels_found_in_train(data_dir, labels, expected):
    assert find_labels("cola", train_with(labels, data_dir)) == expected


def test_labels_without_labeled_examples_are_the_tasks(data_dir):
    assert find_labels("mnli", [ClassificationExample("test-1", "A.", "B.", None)]) == TASKS["mnli"].labels


def test_single_new_label_is_refused(data_dir):
    examples = train_with(["good", "good"], data_dir)
    expected = "every row of the train file has the label 'good'; two labels are needed, see --labels"
    assert error_of(find_labels, "cola", examples) == expected


def test_describe(data_dir):
    examples = train_with(["10", "9", "9", "9"], data_dir)
    assert describe_examples(examples) == "4 examples; labels: 9 3 (75.0%), 10 1 (25.0%)"
    assert describe_examples([ClassificationExample("test-1", "A.", None, None)]) == "1 examples, no labels"


def test_invalid_split_raises_value_error(data_dir):
    with raises(ValueError):
        read_task("cola", "eval", data_dir({}))


def test_every_column_of_a_tasks_file_is_accounted_for(data_dir):
    folder = data_dir(
        {
            "train.tsv": COLA_TRAIN,
            "xnli.dev.tsv": [XNLI_HEADER, xnli_row("ar", "x", "y", "z"), xnli_row("zh", "neutral", "a", "b")],
        }
    )
    cola = read_examples("cola", "train", folder).facts
    assert (
        cola.describe() == "2 rows without a header: text from column 3, label from column 1, id from column 0; "
        "not used: column 2"
    )
    xnli = read_examples("xnli", "dev", folder).facts
    assert xnli.columns == {
        "text": ("sentence1",),
        "text_b": ("sentence2",),
        "label": ("gold_label",),
        "id": ("language",),
    }
    assert xnli.left_out == (LeftOutRows("rows of other languages", 1, 2, is_requested=True),)


def test_real_cola(shared):
    sizes = {split: len(read_task("cola", split, str(shared / "data/cola"))) for split in ("train", "dev", "test")}
    assert sizes == {"train": 8551, "dev": 1043, "test": 1063}


def test_memory_of_many_rows(data_dir):
    """The peak was 359 bytes per row with 47 bytes of text, and 682 with a separate list, tuple and dict per row."""
    count = 10_000
    rows = [[f"s{row}", str(row % 2), "", f"a text of {row} and of some more words"] for row in range(count)]
    folder = data_dir({"train.tsv": rows})
    tracemalloc.start()
    try:
        examples = read_task("cola", "train", folder)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(examples) == count
    assert peak / count < 420
