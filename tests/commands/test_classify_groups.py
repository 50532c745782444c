"""Groups of rows in --dev_split, --cross_validation and bert-prepare, by commands and in Python."""

import json

import pandas as pd
import pytest

from bert_cli import Classifier, prepare_data
from bert_cli.base.errors import InputError
from tests.commands import helpers
from tests.commands.conftest import SENTENCES
from tests.commands.helpers import words
from tests.rows import write_rows
from tests.snapshots import check_message, raises

TEXTS = [text for text, _ in SENTENCES]
LABELS = ["person" if of_people else "animal" for _, of_people in SENTENCES]
AUTHORS = [number * 7 % 6 for number in range(len(TEXTS))]
FRAME = pd.DataFrame({"text": TEXTS, "label": LABELS, "author": AUTHORS})


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "a.csv"
    FRAME.to_csv(path, index=False)
    return path


def options(model):
    return {
        "vocab_file": str(model / "vocab.txt"),
        "bert_config_file": str(model / "bert_config.json"),
        "max_seq_length": 32,
        "train_batch_size": 8,
        "num_train_epochs": 1,
    }


def groups_of(texts):
    return set(FRAME.set_index("text").loc[list(texts), "author"])


def test_dev_split_of_command_and_python(classify, model, table, tmp_path):
    flags = {"train_file": table, "dev_split": 0.3, "group_column": "author", "output_dir": tmp_path / "out"}
    done = classify(*words(options(model) | flags), "--do_train", "--do_eval")
    assert done.code == 0, done.err
    line = next(line for line in done.lines if "6 groups" in line)
    check_message(line, "--dev_split=0.3: ", " groups, each in one part: training ")
    report = json.loads((tmp_path / "out" / "run_report.json").read_text("utf-8"))
    assert report["data_facts"]["train"]["columns"]["group"] == ["author"]
    rows = [json.loads(row) for row in (tmp_path / "out" / "eval_examples.jsonl").read_text("utf-8").splitlines()]
    dev_groups = groups_of(row["text"] for row in rows if "text" in row)
    assert len(dev_groups) == 6 - int(line.split("training ")[1].split()[0])
    # A later evaluation finds the same rows by the remembered flags.
    again = classify("--do_eval", f"--output_dir={tmp_path / 'out'}")
    assert line in again.lines
    fitted = Classifier.fit(TEXTS, LABELS, groups=AUTHORS, dev_split=0.3, **options(model))
    assert fitted.report["eval"] == report["eval"]
    assert fitted.data_facts["train"]["columns"]["group"] == ["groups"]
    trained = Classifier.train(FRAME, group_column="author", dev_split=0.3, **options(model))
    assert trained.report["eval"] == report["eval"]


def test_folds_of_groups(model, tmp_path):
    series = pd.Series(AUTHORS, name="groups")
    result = Classifier.fit(
        TEXTS, LABELS, groups=series, cross_validation=2, output_dir=tmp_path / "out", **options(model)
    )
    assert result.out_of_fold["text"].tolist() == TEXTS
    pairs = set(zip(AUTHORS, result.out_of_fold["fold"], strict=True))
    assert len(pairs) == 6


def test_prepared_files_share_no_group(capfd, table, tmp_path):
    arguments = (table, tmp_path / "out", "--group_column=author", "--dev_split=0.2", "--test_split=0.2", "--balance")
    done = helpers.call(capfd, "bert-prepare", prepare_data.main, *arguments)
    assert done.code == 0, done.err
    check_message(done.err, "6 groups, each in one part: train.tsv ")
    texts = {
        name: [line.split("\t")[-1] for line in (tmp_path / "out" / f"{name}.tsv").read_text("utf-8").splitlines()]
        for name in ("train", "dev", "test")
    }
    groups = [groups_of(rows[name == "test" :]) for name, rows in texts.items()]
    assert all(groups)
    assert sum(map(len, groups)) == len(set.union(*groups))


@pytest.mark.parametrize(
    ("name", "rows", "flags", "message"),
    [
        ("csv", ["text,label,group", "a b,x,1", "c d,y,", "e f,x,2", "g h,y,3"], [], ":3: the group from 'group' is empty"),
        ("jsonl", [{"text": "a b", "label": "x", "group": None}, {"text": "c", "label": "y", "group": "1"}], [], ":1: "),
        ("csv", ["text,label", "a b,x", "c d,y"], [], "--group_column=group: there is no such column"),
        ("csv", ["text,group", "a b,x", "c d,y"], ["--label_column=group"], "named twice by --label_column and --group"),
        (
            "csv",
            ["text,label,group", "a b,x,1", "c d,y,2"],
            ["--weight_column=group"],
            "named twice by --weight_column and another flag",
        ),
        ("csv", ["text,label,group", "a b,x,1", "c d,y,1"], [], "--group_column has one group, and 2 are needed"),
        ("jsonl", [{"text": "a", "label": "x", "group": {"id": 1}}] * 2, [], ":1: the group from 'group' is an object"),
    ],
    ids=["empty", "null", "missing", "label", "weight", "one group", "object"],
)  # fmt: skip
def test_refused_groups(refused, tmp_path, name, rows, flags, message):
    path = write_rows(tmp_path / f"a.{name}", rows)
    refused(["--do_train", f"--train_file={path}", "--dev_split=0.5", "--group_column=group", *flags], message)


def test_columns_without_a_header(classify, model, tmp_path):
    rows = [(text, label, author) for text, label, author in zip(TEXTS, LABELS, AUTHORS, strict=True)]
    path = write_rows(tmp_path / "a.tsv", rows)
    flags = {"train_file": path, "dev_split": 0.3, "group_column": 2, "output_dir": tmp_path / "out"}
    done = classify(*words(options(model) | flags), "--do_train", "--dry_run")
    check_message(done.err, "text from column 0, label from column 1, group from column 2")


def test_refused_groups_in_python(model):
    for groups, message in (
        (AUTHORS[:-1], "groups: has 23 entries, and there are 24 texts"),
        ([*AUTHORS[:-1], None], "groups[23]: is missing"),
        ("abc", "groups: a list of groups is needed"),
    ):
        with raises(InputError, message):
            Classifier.fit(TEXTS, LABELS, groups=groups, dev_split=0.3)
    with raises(InputError, "groups needs dev_split or cross_validation"):
        Classifier.fit(TEXTS, LABELS, groups=AUTHORS)
