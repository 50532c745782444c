"""GLUE tasks in the benchmark's file layouts; test_task_files has Google's cola, mrpc, mnli and xnli."""

import pytest

from bert_cli.examples.classification import ClassificationExample, describe_examples, find_labels
from bert_cli.examples.glue import TASKS
from bert_cli.examples.task_files import read_examples
from bert_cli.reading.rows import LeftOutRows, Row
from bert_cli.reading.source import Source
from tests.input_errors import error_of
from tests.rows import read_task, tabbed, write_rows
from tests.snapshots import check_message


def write(folder, name: str, *lines: str) -> str:
    write_rows(folder / name, tabbed(*lines))
    return str(folder)


def read(folder, task, split, **options):
    return [
        (example.guid, example.text_a, example.text_b, example.label)
        for example in read_task(task, split, str(folder), **options)
    ]


def test_metrics_and_problem_types():
    assert {name: (task.metric, task.problem_type.name, task.facts.has_pairs) for name, task in TASKS.items()} == {
        "cola": ("mcc", "single_label", False),
        "sst-2": ("accuracy", "single_label", False),
        "mrpc": ("accuracy_f1", "single_label", True),
        "sts-b": ("pearson_spearman", "regression", True),
        "qqp": ("accuracy_f1", "single_label", True),
        "mnli": ("accuracy", "single_label", True),
        "qnli": ("accuracy", "single_label", True),
        "rte": ("accuracy", "single_label", True),
        "wnli": ("accuracy", "single_label", True),
        "ax": ("mcc", "single_label", True),
        "xnli": ("accuracy", "single_label", True),
        "swag": ("accuracy", "multiple_choice", False),
    }


def test_sst_2(tmp_path):
    write(tmp_path, "train.tsv", "sentence|label", "hide new secretions |0", "a joy to watch|1")
    write(tmp_path, "dev.tsv", "sentence|label", "unflinchingly bleak|0")
    write(tmp_path, "test.tsv", "index|sentence", "0|uneasy mishmash of styles .", "1|a gem .")
    assert read(tmp_path, "sst-2", "train") == [
        ("train-1", "hide new secretions ", None, "0"),
        ("train-2", "a joy to watch", None, "1"),
    ]
    assert read(tmp_path, "sst-2", "dev") == [("dev-1", "unflinchingly bleak", None, "0")]
    assert read(tmp_path, "sst-2", "test") == [
        ("test-0", "uneasy mishmash of styles .", None, None),
        ("test-1", "a gem .", None, None),
    ]


MRPC = "Quality|#1 ID|#2 ID|#1 String|#2 String"


def test_mrpc_without_ids(tmp_path):
    write(tmp_path, "train.tsv", "Quality|#1 String|#2 String", "1|He said so.|So he said.")
    write(tmp_path, "test.tsv", "index|#1 String|#2 String", "0|He said no.|No.")
    assert read(tmp_path, "mrpc", "train") == [("train-1", "He said so.", "So he said.", "1")]
    assert read(tmp_path, "mrpc", "test") == [("test-1", "He said no.", "No.", None)]


def test_mrpc_as_distributed_by_microsoft(tmp_path):
    write(tmp_path, "msr_paraphrase_train.txt", "\ufeff" + MRPC, "1|10|11|A.|B.", "0|20|21|C.|D.", "1|30|31|E.|F.")
    write(tmp_path, "msr_paraphrase_test.txt", MRPC, "0|40|41|G.|H.")
    check_message(error_of(read_task, "mrpc", "dev", str(tmp_path)), "dev_ids.tsv: ")
    assert len(read(tmp_path, "mrpc", "train")) == 3
    write(tmp_path, "dev_ids.tsv", "20|21")
    assert read(tmp_path, "mrpc", "train") == [("train-1", "A.", "B.", "1"), ("train-3", "E.", "F.", "1")]
    assert read(tmp_path, "mrpc", "dev") == [("dev-2", "C.", "D.", "0")]
    assert read(tmp_path, "mrpc", "test") == [("test-1", "G.", "H.", "0")]
    write(tmp_path, "train.tsv", MRPC, "1|7|8|X.|Y.")  # the download script's file takes precedence
    assert read(tmp_path, "mrpc", "train") == [("train-1", "X.", "Y.", "1")]


STS_B = "index|genre|filename|year|old_index|source1|source2|sentence1|sentence2"


def test_sts_b(tmp_path):
    row = "7|main-news|headlines|2015|0001|none|none|A plane takes off.|A plane flies."
    for split in ("train", "dev"):
        write(tmp_path, f"{split}.tsv", STS_B + "|score", row + "|3.800")
        assert read(tmp_path, "sts-b", split) == [(f"{split}-7", "A plane takes off.", "A plane flies.", "3.800")]
    write(tmp_path, "test.tsv", STS_B, row)
    assert read(tmp_path, "sts-b", "test") == [("test-7", "A plane takes off.", "A plane flies.", None)]
    assert find_labels("sts-b", read_task("sts-b", "dev", str(tmp_path))) == ()


@pytest.mark.parametrize("score", ["high", "", "nan", "3,8"])
def test_sts_b_needs_decimals(tmp_path, score):
    row = "7|g|f|y|o|s|s|A.|B."
    write(tmp_path, "dev.tsv", STS_B + "|score", f"{row}|1.0", f"{row}|{score}")
    advice = "; --skip_unlabeled leaves such rows out" if score in ("", "nan") else ""
    expected = f"{tmp_path}/dev.tsv:3: column 10 is {score!r}, a decimal such as 2.5 is needed{advice}"
    assert error_of(read_task, "sts-b", "dev", str(tmp_path)) == expected


def test_qqp(tmp_path):
    header = "id|qid1|qid2|question1|question2|is_duplicate"
    rows = [f"{n}|{n}1|{n}2|How?|How so?|{n % 2}" for n in range(300)]
    write(tmp_path, "train.tsv", header, *rows[:150], "150|1|2|a row that the benchmark cuts short", *rows[150:])
    examples = read(tmp_path, "qqp", "train")
    assert len(examples) == 300
    assert examples[1] == ("train-1", "How?", "How so?", "1")
    left_out = read_examples("qqp", "train", str(tmp_path)).facts.left_out
    assert left_out == (LeftOutRows("rows that are cut short", 1, 152),)
    write(tmp_path, "dev.tsv", header, *rows[:2], "150|1|2|many of these are another file")
    check_message(error_of(read_task, "qqp", "dev", str(tmp_path)), "dev.tsv:4: ")
    write(tmp_path, "test.tsv", "id|question1|question2", "0|Would this work?|Does it?")
    assert read(tmp_path, "qqp", "test") == [("test-0", "Would this work?", "Does it?", None)]


def test_mnli_has_two_halves(tmp_path):
    middle = "|".join(["-"] * 7)
    head = f"index|{middle}|sentence1|sentence2"
    write(tmp_path, "dev_mismatched.tsv", head + "|label1|gold_label", f"5|{middle}|A.|B.|neutral|entailment")
    write(tmp_path, "test_mismatched.tsv", head, f"6|{middle}|C.|D.")
    assert TASKS["mnli"].second_half == "_mismatched"
    assert read(tmp_path, "mnli", "dev_mismatched") == [("dev_mismatched-5", "A.", "B.", "entailment")]
    assert read(tmp_path, "mnli", "test_mismatched") == [("test_mismatched-6", "C.", "D.", None)]


@pytest.mark.parametrize(
    ("task", "names", "label"),
    [
        ("qnli", "index|question|sentence", "not_entailment"),
        ("rte", "index|sentence1|sentence2", "entailment"),
        ("wnli", "index|sentence1|sentence2", "1"),
    ],
)
def test_indexed_pairs(tmp_path, task, names, label):
    for split in ("train", "dev"):
        write(tmp_path, f"{split}.tsv", names + "|label", f"9|Who?|Ann.|{label}")
        assert read(tmp_path, task, split) == [(f"{split}-9", "Who?", "Ann.", label)]
    write(tmp_path, "test.tsv", names, "3|Who?|Ann.")
    assert read(tmp_path, task, "test") == [("test-3", "Who?", "Ann.", None)]
    write(tmp_path, "dev.tsv", names + "|label", "9|Who?|Ann.|maybe")
    check_message(error_of(read_task, task, "dev", str(tmp_path)), ":2: ")


@pytest.mark.parametrize("name", ["diagnostic.tsv", "AX.tsv"])
def test_ax(tmp_path, name):
    write(tmp_path, name, "index|sentence1|sentence2", "0|The cat sat.|The cat did not sit.")
    assert read(tmp_path, "ax", "test") == [("test-0", "The cat sat.", "The cat did not sit.", None)]
    check_message(error_of(read_task, "ax", "train", str(tmp_path)), "--do_train: ")
    check_message(error_of(read_task, "ax", "dev", str(tmp_path)), "--do_eval: ")


def test_xnli_in_another_language(tmp_path):
    (tmp_path / "multinli").mkdir()
    write(tmp_path, "multinli/multinli.train.de.tsv", "premise|hypo|label", "Ja.|Nein.|contradictory")
    rows = [f"{language}|neutral|-|-|-|-|{language} a|{language} b" for language in ("zh", "de")]
    write(tmp_path, "xnli.dev.tsv", "language|gold_label|a|b|c|d|sentence1|sentence2", *rows)
    assert read(tmp_path, "xnli", "train", language="de") == [("train-1", "Ja.", "Nein.", "contradiction")]
    assert read(tmp_path, "xnli", "dev", language="de") == [("dev-2", "de a", "de b", "neutral")]
    check_message(error_of(read_task, "xnli", "train", str(tmp_path), language="fr"), "multinli.train.fr.tsv: ")
    check_message(error_of(read_task, "xnli", "dev", str(tmp_path), language="fr"))


def test_file_instead_of_the_tasks_file(tmp_path):
    write(tmp_path, "mine.tsv", "sentence|label", "good|1")
    example = ClassificationExample("train-1", "good", None, "1")
    assert read_task("sst-2", "train", Source(str(tmp_path / "mine.tsv"))) == [example]


def test_descriptions():
    def made(*labels):
        return [ClassificationExample("g", "t", None, label) for label in labels]

    assert describe_examples(made(*(str(n / 2) for n in range(40)))) == "40 examples; from 0 to 19.5, mean 9.75"
    several = made((1, 0), (1, 1), (0, 0), (1, 0))
    assert describe_examples(several, ("rude", "loud")) == "4 examples; labels: rude 3 (75.0%), loud 1 (25.0%)"


def test_real_files(shared):
    actual = {
        (task, split): len(read_task(task, split, str(shared / "data" / task), header=header))
        for task, split, header in (
            ("sst-2", "train", "auto"), ("sst-2", "dev", "auto"), ("rte", "train", "auto"), ("rte", "dev", "auto"),
            ("sts-b", "dev", "auto"),
        )
    }  # fmt: skip
    assert actual == {
        ("sst-2", "train"): 6920,
        ("sst-2", "dev"): 872,
        ("rte", "train"): 2490,
        ("rte", "dev"): 277,
        ("sts-b", "dev"): 1500,
    }


def detect_split(task: str, *lines: str, labels: tuple[str, ...] = ("0", "1")) -> str | None:
    return TASKS[task].detect_split([Row(number, line.split("|")) for number, line in enumerate(lines, 1)], labels)


def test_split_is_detected_from_rows():
    cola = ("gj04|1||The cat sat.", "gj04|0|*|Cat the sat.")
    assert detect_split("cola", *cola) == "dev"
    assert detect_split("cola", "id|label|mark|words", *cola) == "dev"
    assert detect_split("cola", *cola, labels=("yes", "no")) is None
    assert (
        detect_split("cola", "r1|1|A good film.|web", "r2|0|A bad film.|web") is None
    )  # other columns: the last column is not a text
    assert detect_split("cola", *cola, "gj04|1|a row that is short") is None
    assert detect_split("cola", "gj04|1||The cat sat.") is None  # the only row may be a header
    names = "Quality|#1 ID|#2 ID|#1 String|#2 String"
    assert detect_split("mrpc", names, "1|70|90|a cat sat|the cat sat") == "dev"
    assert (
        detect_split(
            "mrpc", names.replace("Quality", "index"), "0|70|90|a cat sat|the cat sat", "1|7|9|a b|c d", "2|7|9|a b|c d"
        )
        == "test"
    )
    assert detect_split("mrpc", names, "x|70|90|a cat sat|the cat sat") is None
    long = "|".join(["0", *["-"] * 7, "a cat sat", "the cat sat", "neutral", "neutral", "neutral"])
    assert detect_split("mnli", "x|" * 12 + "x", long, labels=("neutral",)) == "dev"
    numbers = "0|main|a|b|2012|7|a cat sat|the cat sat|2.5"
    assert detect_split("sts-b", "x|" * 9 + "x", f"0|{numbers}", labels=()) == "dev"
