"""Header detection with --header=auto: headers, data, and files that need yes or no."""

import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.task_files import read_examples
from tests.input_errors import error_of
from tests.rows import read_task, write_rows
from tests.snapshots import check_message, raises


def read(folder, name: str, rows: list[list[str]], task="cola", split=None, **options):
    write_rows(folder / name, rows)
    return read_task(task, split or name.split(".")[0].split("_")[0], str(folder), **options)


def refused(folder, name, rows, **options) -> str:
    return error_of(read, folder, name, rows, **options)


DATA_THAT_WOULD_BE_LOST = {
    "numbers as ids": [["0", "Tea"], ["1", "Coffee"]],
    "one row": [["0", "Tea"]],
    "an id of its own, a one-word text": [["s-01", "Tea"], ["s-02", "Coffee"]],
    "a word as id, found again": [["ks08", "Tea"], ["ks08", "Coffee"], ["lm11", "Milk"]],
    "words as ids": [["anna", "The tide came in."], ["berta", "It rained."]],
    "words as ids, no full stop": [["anna", "the tide came in again at noon"], ["berta", "rain"]],
    "Chinese": [["甲", "河水很冷。"], ["乙", "下雨了。"]],
    "no ids": [["", "The tide came in."], ["", "It rained."]],
    "a quotation": [["a", 'She said "come in."'], ["b", "x"]],
}


@pytest.mark.parametrize("rows", DATA_THAT_WOULD_BE_LOST.values(), ids=DATA_THAT_WOULD_BE_LOST)
def test_data_row_instead_of_a_test_files_header(tmp_path, caplog, rows):
    text = refused(tmp_path, "test.tsv", rows)
    check_message(text, f"{tmp_path}/test.tsv:1: ")
    assert len(read(tmp_path, "test.tsv", rows, header="no")) == len(rows)
    if len(rows) > 1:
        assert len(read(tmp_path, "test.tsv", rows, header="yes")) == len(rows) - 1
        check_message(caplog, "--header=yes")


TEST_HEADERS = {
    "GLUE": ["index", "sentence"],
    "other names": ["guid", "text"],
    "pandas, unnamed index": ["", "sentence"],
    "pandas, no names": ["0", "1"],
    "numbered from one": ["1", "2"],
    "German": ["Nummer", "Zu bewertender Satz"],
    "Chinese": ["索引", "句子"],
    "digits in names": ["#1 ID", "Text 1"],
    "empty": ["", ""],
    "one name": ["sentence"],
}


@pytest.mark.parametrize("header", TEST_HEADERS.values(), ids=TEST_HEADERS)
@pytest.mark.parametrize(
    "rows",
    [[["0", "Tea"]], [["a", "Tea."], ["b", "Milk."]], [["", "Tea"], ["", "Milk"]]],
    ids=["one", "words", "no ids"],
)
def test_header_in_a_test_file(tmp_path, header, rows):
    assert [example.text_a for example in read(tmp_path, "test.tsv", [header, *rows])] == [row[1] for row in rows]


def test_repeated_header_is_still_a_header(tmp_path):
    rows = [["index", "sentence"], ["0", "Tea"], ["index", "sentence"], ["0", "Milk"]]
    assert len(read(tmp_path, "test.tsv", rows)) == 3


def test_a_headers_names_are_in_the_account(tmp_path):
    write_rows(tmp_path / "test.tsv", [["index", "sentence"], ["0", "Tea"]])
    assert (
        read_examples("cola", "test", str(tmp_path)).facts.describe() == "1 row: text from 'sentence', id from 'index'"
    )


def cola(*pairs):
    return [[f"s{number}", label, "", text] for number, (label, text) in enumerate(pairs)]


ZERO_ONE = cola(("0", "It rained."), ("1", "Tea"), ("1", "The tide came in."))
WORDS = cola(("ham", "Come home."), ("spam", "You won!"), ("ham", "Tea"), ("spam", "Call now."))

HEADERS_OF_TRAIN = {
    "plain": (["id", "label", "mark", "sentence"], ZERO_ONE),
    "over words": (["id", "label", "mark", "sentence"], WORDS),
    "not a usual name, over numbers": (["x", "grammatical", "y", "s"], ZERO_ONE),
    "not a usual name, over words": (["Nr", "Urteil", "Zeichen", "Satz"], WORDS),
    "Chinese": (["编号", "标签", "标记", "句子"], ZERO_ONE),
    "pandas, no names": (["0", "1", "2", "3"], ZERO_ONE),
    "over one row": (["id", "Label", "mark", "sentence"], ZERO_ONE[:1]),
    "over words that come once": (["id", "class", "mark", "text"], WORDS[:2]),
}


@pytest.mark.parametrize(("header", "rows"), HEADERS_OF_TRAIN.values(), ids=HEADERS_OF_TRAIN)
@pytest.mark.parametrize("name", ["train.tsv", "dev.tsv"])
def test_unexpected_header(tmp_path, name, header, rows):
    labels = None if name == "train.tsv" or rows[0][1] == "0" else ["ham", "spam"]
    text = refused(tmp_path, name, [header, *rows], labels=labels)
    check_message(text, f"{tmp_path}/{name}:1: ")
    examples = read(tmp_path, name, [header, *rows], header="yes", labels=labels)
    assert [(example.label, example.text_a) for example in examples] == [(row[1], row[3]) for row in rows]
    assert examples[0].guid == f"{name[:-4]}-1"


DATA_OF_TRAIN = {
    "numbers": ZERO_ONE,
    "words": WORDS,
    "all labels differ": cola(("good", "Tea"), ("bad", "Mud"), ("fair", "Milk")),
    "first label is the only one of its kind": cola(("none", "Rain"), *[("all", "Tea")] * 3),
    "its id comes again": [["s", "none", "", "Rain"], *[["s", "all", "", "Tea"]] * 3],
    "its text is a sentence": [["a", "none", "", "It rained."], ["b", "all", "", "Tea"], ["c", "all", "", "Tea"]],
    "a word among numbers, with a sentence": [
        ["a", "none", "", "It rained."],
        ["b", "1", "", "x"],
        ["c", "2", "", "y"],
    ],
    "a number among words": [["a", "0", "", "Rain"], ["b", "all", "", "Tea"], ["c", "all", "", "Tea"]],
    "a usual name that is a class": [["a", "score", "", "Rain"], ["b", "score", "", "Tea"], ["c", "foul", "", "Tea"]],
    "one row": cola(("good", "It rained.")),
    "one short row": cola(("good", "Tea")),
}


@pytest.mark.parametrize("rows", DATA_OF_TRAIN.values(), ids=DATA_OF_TRAIN)
def test_data_without_header(tmp_path, rows):
    assert [example.label for example in read(tmp_path, "train.tsv", rows)] == [row[1] for row in rows]


def test_unknown_label_in_the_first_row_is_not_always_a_header(tmp_path):
    rows = [["s0", "x", "", "It rained."], ["s1", "0", "", "Tea"]]
    check_message(refused(tmp_path, "dev.tsv", rows), ":1: ")


def test_header_read_as_data_has_a_warning(tmp_path, caplog):
    examples = read(tmp_path, "train.tsv", [["id", "label", "mark", "text"], *WORDS], header="no")
    assert examples[0].label == "label"
    check_message(caplog, "--header=no")


def test_first_row_with_a_frequent_label_is_data(tmp_path, caplog):
    """SST-2 often has this form: text and label without a header."""
    rows = [["It rained.", "1"], *[["Tea", "0"]] * 9, *[["Milk", "1"]] * 10]
    with caplog.at_level(logging.INFO, "bert_cli"):
        examples = read(tmp_path, "train.tsv", rows, task="sst-2")
    assert [(example.guid, example.label) for example in (examples[0], examples[-1])] == [
        ("train-0", "1"),
        ("train-19", "1"),
    ]
    check_message(caplog, f"{tmp_path}/train.tsv:1: ")
    assert len(read(tmp_path, "train.tsv", rows, task="sst-2", header="yes")) == 19
    check_message(refused(tmp_path, "train.tsv", rows[:-1], task="sst-2"), "'1'")
    assert "looks like data" in refused(tmp_path, "train.tsv", [["It rained.", "2"], *rows[1:]], task="sst-2")
    # A header of numbers, and a header that is repeated in concatenated files, are still headers.
    assert len(read(tmp_path, "train.tsv", [["0", "1"], *rows], task="sst-2")) == 20
    with raises(InputError, "'label'"):
        read(tmp_path, "train.tsv", [["sentence", "label"]] * 12 + rows, task="sst-2")


MRPC_ROWS = [["1", "7", "8", "Tea", "Milk"], ["0", "9", "10", "Rain", "Mud"]]


@pytest.mark.parametrize("name", ["train.tsv", "dev.tsv", "test.tsv"])
def test_mrpc_without_header(tmp_path, name):
    assert "test.tsv:1" in refused(tmp_path, "test.tsv", MRPC_ROWS, task="mrpc")
    text = refused(tmp_path, name, MRPC_ROWS, task="mrpc")
    check_message(text, f"{name}:1: ")
    examples = read(tmp_path, name, MRPC_ROWS, task="mrpc", header="no")
    assert [example.guid for example in examples] == [f"{name[:-4]}-0", f"{name[:-4]}-1"]


def test_mrpc_first_row_with_a_unique_label_is_data_by_its_ids(tmp_path):
    rows = [["", "7", "8", "Tea", "Milk"], *MRPC_ROWS]
    check_message(refused(tmp_path, "train.tsv", rows, task="mrpc"))


@pytest.mark.parametrize("header", [["0", "1", "2", "3", "4"], ["Qualität", "ID 1", "ID 2", "Satz 1", "Satz 2"]])
def test_mrpc_headers(tmp_path, header):
    assert len(read(tmp_path, "train.tsv", [header, *MRPC_ROWS], task="mrpc")) == 2


def test_mnli_without_header(tmp_path):
    row = ["31193", "x", "x", "fiction", "(", "(", "(", "(", "Tea", "Milk", "neutral"]
    text = refused(tmp_path, "train.tsv", [row, row], task="mnli")
    check_message(text, "train.tsv:1: ")
    check_message(refused(tmp_path, "test_matched.tsv", [row, row], task="mnli"))


def test_labels_from_the_user_make_the_first_row_data(tmp_path):
    rows = [["yes", "a", "b", "Tea", "Milk"], ["no", "c", "d", "Rain", "Mud"]]
    assert "its label is 'yes'" in refused(tmp_path, "train.tsv", rows, task="mrpc", labels=["no", "yes"])


def test_xnli_without_header(tmp_path):
    (tmp_path / "multinli").mkdir()
    rows = [["甲", "乙", "contradictory"], ["丙", "丁", "neutral"]]
    text = refused(tmp_path, "multinli/multinli.train.zh.tsv", rows, task="xnli", split="train")
    check_message(text, "'contradictory'")
    rows = [["zh", "neutral", "", "", "", "", "甲", "乙"]]
    assert "its label is 'neutral'" in refused(tmp_path, "xnli.dev.tsv", rows, task="xnli", split="dev")
