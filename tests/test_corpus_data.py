"""The corpus in data/pretraining: reproducible, with whole stories and few words."""

import importlib.util
import itertools
import json
import pathlib
import random
import sys

import pytest

from bert_cli.model.config import BertConfig
from bert_cli.text.tokenization import BasicTokenizer

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "data" / "pretraining"


@pytest.fixture(scope="module")
def corpus() -> str:
    return (FOLDER / "corpus.txt").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def documents(corpus) -> list[list[str]]:
    return [document.split("\n") for document in corpus.removesuffix("\n").split("\n\n")]


def test_the_generator_reproduces_the_file(corpus):
    specification = importlib.util.spec_from_file_location("make_corpus", ROOT / "data" / "make_corpus.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["make_corpus"] = module  # dataclasses look up their module
    specification.loader.exec_module(module)
    assert module.make_corpus(2000, 12345) == corpus


def test_stories_are_whole(documents):
    assert len(documents) == 2000
    assert all(5 <= len(document) <= 12 for document in documents)
    assert f"{sum(map(len, documents)):,} sentences" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_sentences_are_well_formed(documents):
    for sentence in itertools.chain.from_iterable(documents):
        assert sentence == " ".join(sentence.split())
        assert sentence.lstrip('"')[0].isupper(), sentence
        assert sentence.endswith((".", '."')), sentence
        assert not set(sentence) & set("{}<>|/$"), sentence


def test_words_are_few(corpus):
    assert 600 <= len(set(BasicTokenizer().tokenize(corpus))) <= 950


def test_neighbors_share_more_words_than_random_sentences(documents):
    """Next-sentence prediction can learn from shared words."""
    rng = random.Random(1)
    words = [[set(BasicTokenizer().tokenize(sentence)) - {"the", "a", ".", ","} for sentence in d] for d in documents]
    pairs = [pair for document in words for pair in itertools.pairwise(document)]
    random_pairs = [(left, rng.choice(rng.choice(words))) for left, _ in pairs]
    near, far = (sum(len(left & right) for left, right in group) / len(group) for group in (pairs, random_pairs))
    assert near > 2 * far


def test_the_config_only_lacks_the_vocabulary_size():
    values = json.loads((FOLDER / "bert_config.json").read_text(encoding="utf-8"))
    assert "vocab_size" not in values
    config = BertConfig(**values | {"vocab_size": 1000})
    assert (config.num_hidden_layers, config.hidden_size) == (2, 128)
