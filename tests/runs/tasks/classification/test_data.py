"""Data that bert-classify reads for a command line: rows, labels and problem type."""

import pytest

from bert_cli.api.inputs.tables import pair_up
from bert_cli.base.errors import InputError
from bert_cli.flags.option import build
from bert_cli.flags.parser import parse
from bert_cli.problem_types.registry import PROBLEM_TYPES
from bert_cli.runs.tasks.classification.data import problem_type_from_flags, read_data
from bert_cli.settings.classification import ClassifySettings
from tests.snapshots import check_message, raises


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Return read(files, *flags), which returns the ClassificationData for --do_train or other flags."""

    def read_files(files, *flags, labels=None, problem_type=None, trains=True):
        monkeypatch.chdir(tmp_path)
        for name, text in files.items():
            (tmp_path / name).write_text(text, encoding="utf-8", newline="\n")
        words = ["--do_train", f"--train_file={next(iter(files))}"] if trains else []
        values, _ = parse(ClassifySettings, [*words, *flags])
        settings = build(ClassifySettings, values)
        chosen_type = PROBLEM_TYPES[problem_type] if problem_type else problem_type_from_flags(settings)
        return read_data(settings, settings.encoding.labels or labels, chosen_type)

    return read_files


def read_lists(labels, *flags):
    """Return the data for labels in memory, read in the same way as by Classifier.fit."""
    values, _ = parse(ClassifySettings, ["--do_train", *flags])
    settings = build(ClassifySettings, values)
    table = pair_up("texts", [f"text {n}" for n in range(len(labels))], labels)
    return read_data(settings, None, problem_type_from_flags(settings), {"train": table})


def make_csv(*rows, header="text,label"):
    return "".join(f"{row}\n" for row in (header, *rows))


def split_labels(data, split="train"):
    return [example.label for example in data.splits[split]]


UNLABELED = make_csv("a,yes", "b,-", "c,no", "d,", "e,yes", "f,no")


def test_unlabeled_rows_are_an_error_that_names_the_flag(read):
    with raises(InputError, "t.csv:3: "):
        read({"t.csv": UNLABELED})
    with raises(InputError, "t.csv:3: "):
        read({"t.csv": make_csv("a,yes", "b,", "c,no", "d,yes", "e,no")})


def test_skip_unlabeled_omits_rows_of_training_and_dev_data(read, caplog):
    caplog.set_level("INFO")
    data = read(
        {"t.csv": UNLABELED, "d.csv": make_csv("a,nan", "b,no", "c,null")},
        "--dev_file=d.csv",
        "--do_eval",
        "--skip_unlabeled",
    )
    assert data.labels == ("no", "yes")
    assert split_labels(data) == ["yes", "no", "yes", "no"]
    assert split_labels(data, "dev") == ["no"]
    assert [example.guid for example in data.splits["train"]] == ["train-0", "train-2", "train-4", "train-5"]
    check_message(caplog, "t.csv: ")
    check_message(caplog, "d.csv: ")


def test_a_file_to_predict_keeps_its_unlabeled_rows(read):
    flags = ("--test_file=t.csv", "--do_predict", "--skip_unlabeled")
    data = read({"t.csv": UNLABELED}, *flags, labels=("no", "yes"), problem_type="single_label", trains=False)
    assert split_labels(data, "test") == ["yes", None, "no", None, "yes", "no"]


def test_a_dev_file_is_read_with_the_model_labels(read):
    dev = {"d.csv": make_csv("a,none", "b,-", "c,yes")}
    flags = ("--dev_file=d.csv", "--do_eval")
    options = {"labels": ("none", "yes"), "problem_type": "single_label", "trains": False}
    with raises(InputError, "d.csv:3: "):
        read(dev, *flags, **options)
    assert split_labels(read(dev, *flags, "--skip_unlabeled", **options), "dev") == ["none", "yes"]


def test_a_hyphen_is_a_label_if_the_flag_names_it(read):
    data = read({"t.csv": make_csv("a,yes", "b,-", "c,no")}, "--labels=yes,no,-")
    assert split_labels(data) == ["yes", "-", "no"]


def test_unlabeled_rows_of_a_regression(read):
    rows = {"t.csv": make_csv("a,1.5", "b,NA", "c,-1", "d,")}
    with raises(InputError, "t.csv:3: "):
        read(rows, "--problem_type=regression")
    assert split_labels(read(rows, "--problem_type=regression", "--skip_unlabeled")) == ["1.5", "-1"]


def test_unlabeled_rows_of_several_columns(read):
    rows = {"t.csv": make_csv("a,1,0", "b,-1,-1", "c,0,1", header="text,rude,loud")}
    with raises(InputError, "t.csv:3: "):
        read(rows, "--label_column=rude,loud")
    assert split_labels(read(rows, "--label_column=rude,loud", "--skip_unlabeled")) == [(1, 0), (0, 1)]


def test_unlabeled_rows_of_multiple_choice(read):
    rows = {"t.csv": make_csv("a,x,y,0", "b,x,y,", "c,x,y,1", header="text,first,second,label")}
    data = read(rows, "--text_column=text", "--choice_columns=first,second", "--skip_unlabeled")
    assert split_labels(data) == [0, 1]


def test_unlabeled_rows_of_the_four_columns_of_a_task(read, tmp_path):
    (tmp_path / "data").mkdir()
    rows = [("s1", "yes"), ("s2", "-"), ("s3", "no"), ("s4", "")] + [(f"s{n}", "yes") for n in range(5, 9)]
    table = "".join(f"{guid}\t{label}\t\tthe text of {guid} .\n" for guid, label in rows)
    (tmp_path / "data/train.tsv").write_text(table, encoding="utf-8", newline="\n")
    flags = ("--task_name=cola", "--data_dir=data", "--do_train")
    with raises(InputError, "train.tsv:4: "):
        read({"unused.csv": ""}, *flags, trains=False)
    data = read({"unused.csv": ""}, *flags, "--skip_unlabeled", trains=False)
    assert data.labels == ("no", "yes")
    assert [example.guid for example in data.splits["train"]] == [f"train-{row}" for row in (0, 2, 4, 5, 6, 7)]


def test_lists_written_as_text_train_and_evaluate_in_the_same_way(read, caplog):
    caplog.set_level("INFO")
    table = make_csv('a,"[0, 1, 0]"', 'b,"[1, 0, 1]"', 'c,"[0, 1, 0]"')
    data = read({"t.csv": table})
    assert (data.problem_type.name, data.labels) == ("multi_label", ("0", "1", "2"))
    assert split_labels(data) == [(0, 1, 0), (1, 0, 1), (0, 1, 0)]
    check_message(caplog.messages[-2], "t.csv: ")
    options = {"labels": data.labels, "problem_type": "multi_label", "trains": False}
    later = read({"d.csv": table}, "--dev_file=d.csv", "--do_eval", **options)
    assert split_labels(later, "dev") == split_labels(data)


def test_the_labels_flag_names_columns_of_zeros_and_ones(read):
    data = read({"t.csv": make_csv('a,"[0, 1]"', 'b,"[1, 0]"', 'c,"[1, 1]"')}, "--labels=rude,loud")
    assert split_labels(data) == [(0, 1), (1, 0), (1, 1)]


def test_lists_of_one_label_train_and_evaluate_as_single_labels(read, caplog):
    caplog.set_level("INFO")
    rows = {"t.jsonl": '{"text": "a", "label": ["pos"]}\n{"text": "b", "label": ["neg"]}\n' * 2}
    data = read(rows)
    assert (data.problem_type.name, data.labels, data.resolved_flags["problem_type"]) == (
        "single_label", ("neg", "pos"), "single_label",
    )  # fmt: skip
    check_message(caplog.messages[-2], "t.jsonl: ")
    dev = {"d.jsonl": '{"text": "a", "label": ["pos"]}\n{"text": "b", "label": ["pos", "neg"]}\n'}
    with raises(InputError, "d.jsonl:2: "):
        read(dev, "--dev_file=d.jsonl", "--do_eval", labels=("neg", "pos"), problem_type="single_label", trains=False)
    assert split_labels(read(rows, "--problem_type=multi_label")) == [(0, 1), (1, 0)] * 2


def test_skip_unlabeled_omits_empty_lists(read):
    rows = {"t.jsonl": '{"text": "a", "label": ["pos"]}\n{"text": "b", "label": []}\n{"text": "c", "label": ["neg"]}\n'}
    assert read(rows).problem_type.name == "multi_label"
    data = read(rows, "--skip_unlabeled")
    assert (data.problem_type.name, split_labels(data)) == ("single_label", ["pos", "neg"])


def test_the_labels_of_the_four_columns_of_a_task_are_checked(read, tmp_path, caplog):
    (tmp_path / "data").mkdir()
    flags = ("--task_name=cola", "--data_dir=data", "--do_train")

    def read_task(*labels):
        table = "".join(f"s{n}\t{label}\t\tthe text of {n} .\n" for n, label in enumerate(labels * 3))
        (tmp_path / "data/train.tsv").write_text(table, encoding="utf-8", newline="\n")
        return read({"unused.csv": ""}, *flags, trains=False)

    with raises(InputError, "train.tsv:3: "):
        read_task("yes", "no", "-")
    assert read_task("Yes", "yes").labels == ("Yes", "yes")
    check_message(caplog)


def test_decimal_commas_are_read_in_training_and_dev_files(read, caplog):
    caplog.set_level("INFO")
    files = {"t.csv": make_csv("a;3,5", "b;4", header="text;score"), "d.csv": make_csv('a,"1,25"', header="text,score")}
    data = read(files, "--problem_type=regression", "--dev_file=d.csv", "--do_eval")
    assert split_labels(data) == ["3.5", "4"]
    assert split_labels(data, "dev") == ["1.25"]
    check_message(caplog, "t.csv:2: ")
    with raises(InputError, "t.csv:2: "):
        read(files)
    assert read(files, "--problem_type=single_label").labels == ("4", "3,5")


def test_lists_in_memory_decide_the_problem_type(caplog):
    caplog.set_level("INFO")
    data = read_lists([["pos"], ["neg"], ["pos"]])
    assert (data.problem_type.name, split_labels(data)) == ("single_label", ["pos", "neg", "pos"])
    check_message(caplog, "--problem_type=multi_label")
    assert read_lists([["pos"], ["neg"], ["pos"]], "--problem_type=multi_label").problem_type.name == "multi_label"
    assert split_labels(read_lists([["pos"], [], ["neg"]])) == [(0, 1), (0, 0), (1, 0)]
    assert split_labels(read_lists([{"a", "b"}, {"b"}])) == [(1, 1), (0, 1)]
    assert read_lists([[0], [1, 0]]).problem_type.name == "multi_label"


def test_none_in_memory_is_a_missing_label():
    with raises(InputError, "texts:1: "):
        read_lists(["pos", None, "neg"])
    assert split_labels(read_lists(["pos", None, "neg"], "--skip_unlabeled")) == ["pos", "neg"]
