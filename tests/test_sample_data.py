"""The sample in data/: reproducible, balanced, disjoint, and with words of the built-in vocabulary."""

import importlib.util
import json
import pathlib
import sys

import numpy as np
import pytest

from bert_cli.text.tokenization import BasicTokenizer
from bert_cli.text.vocabulary import read_vocabulary

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZES = {"train": 16000, "dev": 1000, "test": 1000}


def rows(name: str) -> list[list[str]]:
    text = (ROOT / "data" / f"{name}.tsv").read_text(encoding="utf-8")
    return [line.split("\t") for line in text.removesuffix("\n").split("\n")]


def sentences(name: str) -> list[str]:
    return [row[-1] for row in (rows(name)[1:] if name == "test" else rows(name))]


def test_the_generator_reproduces_the_files():
    specification = importlib.util.spec_from_file_location("make_sample", ROOT / "data" / "make_sample.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["make_sample"] = module  # dataclasses look up their module
    specification.loader.exec_module(module)
    for name, content in module.make_sample(SIZES, 12345).items():
        assert content == (ROOT / "data" / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("name", ["train", "dev"])
def test_files_have_four_columns_and_balanced_labels(name):
    file_rows = rows(name)
    assert len(file_rows) == SIZES[name]
    assert all(len(row) == 4 and row[1] in "01" and row[2] == ("" if row[1] == "1" else "*") for row in file_rows)
    assert sum(row[1] == "1" for row in file_rows) == SIZES[name] / 2


def test_the_test_file_has_a_header_and_separate_labels():
    test_rows, labels = rows("test"), rows("test_labels")
    assert test_rows[0] == ["index", "sentence"]
    assert [row[0] for row in test_rows[1:]] == [row[0] for row in labels[1:]] == [str(i) for i in range(SIZES["test"])]
    assert sum(row[1] == "1" for row in labels[1:]) == SIZES["test"] / 2


def test_sentences_are_unique():
    everything = [sentence.lower() for name in SIZES for sentence in sentences(name)]
    assert len(set(everything)) == len(everything)


def test_every_word_is_in_the_built_in_vocabulary():
    builtin = ROOT / "bert_cli" / "builtin"
    vocabulary = read_vocabulary(str(builtin / "vocab.txt"))
    assert (
        len(vocabulary.ids) == vocabulary.size == json.loads((builtin / "bert_config.json").read_text())["vocab_size"]
    )
    words = {word for name in SIZES for text in sentences(name) for word in BasicTokenizer().tokenize(text)}
    assert words <= set(vocabulary.ids)


def test_words_and_length_do_not_predict_the_label():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import matthews_corrcoef

    train, dev = rows("train")[:4000], rows("dev")
    labels, references = ([int(row[1]) for row in split_rows] for split_rows in (train, dev))
    counter = CountVectorizer(token_pattern=r"\w+")
    words = LogisticRegression(max_iter=200).fit(counter.fit_transform([row[3] for row in train]), labels)
    assert matthews_corrcoef(references, words.predict(counter.transform([row[3] for row in dev]))) < 0.5
    lengths = [np.array([[len(row[3].split())] for row in split_rows]) for split_rows in (train, dev)]
    by_length = LogisticRegression().fit(lengths[0], labels).predict(lengths[1])
    assert abs(matthews_corrcoef(references, by_length)) < 0.1
