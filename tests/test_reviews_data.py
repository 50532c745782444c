"""data/reviews.csv and data/new_reviews.txt: reproducible, balanced, unique, read without flags."""

import importlib.util
import pathlib
import sys

import pandas as pd

from bert_cli.flags.option import build
from bert_cli.flags.parser import parse
from bert_cli.run_classifier import main
from bert_cli.settings.classification import ClassifySettings

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def test_make_reviews_reproduces_the_files(monkeypatch):
    specification = importlib.util.spec_from_file_location("make_reviews", DATA / "make_reviews.py")
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "make_reviews", module)
    specification.loader.exec_module(module)
    for name, content in module.make_reviews(12345).items():
        assert content.encode() == (DATA / name).read_bytes(), name
    assert module.make_reviews(1) != module.make_reviews(2)


def test_reviews_are_balanced_and_different():
    table = pd.read_csv(DATA / "reviews.csv")
    new = (DATA / "new_reviews.txt").read_text(encoding="utf-8").splitlines()
    assert list(table.columns) == ["text", "label"]
    assert table["label"].value_counts().to_dict() == {"bad": 600, "good": 600}
    assert len({*table["text"], *new}) == len(table) + len(new) == 1220


def test_reviews_need_no_column_flags():
    words = ["--do_train", f"--train_file={DATA / 'reviews.csv'}", "--dev_split=0.1", "--do_eval"]
    values, given_names = parse(ClassifySettings, words)
    assert main.checked(build(ClassifySettings, values), given_names).data.train_file == str(DATA / "reviews.csv")
