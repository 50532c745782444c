"""The sample in data/tagging: reproducible, disjoint, valid BIO, and too hard for word lists."""

import importlib.util
import pathlib
import sys
from collections import Counter, defaultdict

import pytest

from bert_cli.examples.tag_schemes import find_entities, from_bio, to_bio
from bert_cli.examples.token_files.bio_tags import convert_to_bio
from bert_cli.examples.token_files.columns import read_column_file
from bert_cli.outputs.tagging import score_tags
from bert_cli.reading.source import Source

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZES = {"train": 2000, "dev": 300, "test": 300}


def examples(split):
    return read_column_file(Source(str(ROOT / "data" / "tagging" / f"{split}.txt"))).examples


@pytest.fixture(scope="module")
def generator():
    specification = importlib.util.spec_from_file_location("make_tagging", ROOT / "data" / "make_tagging.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["make_tagging"] = module  # dataclasses look up their module
    specification.loader.exec_module(module)
    return module


def test_the_generator_reproduces_the_files(generator):
    for name, content in generator.make_tagging(SIZES, 12345).items():
        assert content.encode() == (ROOT / "data" / "tagging" / name).read_bytes(), name


def test_another_seed_makes_other_sentences(generator):
    assert generator.make_tagging({"test": 3}, 1) != generator.make_tagging({"test": 3}, 2)


@pytest.mark.parametrize("split", SIZES)
def test_size_scheme_and_types(split):
    file, notation = convert_to_bio(read_column_file(Source(str(ROOT / "data" / "tagging" / f"{split}.txt"))))
    assert (str(notation), len(file.examples)) == ("BIO", SIZES[split])
    assert all(example.tags == to_bio(from_bio(example.tags, "IOB1"), "IOB1") for example in file.examples)
    types = Counter(entity.type for example in file.examples for entity in find_entities(example.tags))
    assert set(types) == {"DATE", "LOC", "ORG", "PER", "PRODUCT"}
    assert min(types.values()) > 0.05 * types.total()


def test_sentences_are_unique():
    sentences = [" ".join(example.words).lower() for split in SIZES for example in examples(split)]
    assert len(set(sentences)) == len(sentences) == sum(SIZES.values())


def named_words(split, types=("PER", "LOC", "ORG", "PRODUCT")):
    words = defaultdict(set)
    for example in examples(split):
        for word, tag in zip(example.words, example.tags, strict=True):
            if tag[2:] in types:
                words[word].add(tag[2:])
    return words


def test_many_names_are_not_in_the_training_data():
    training_names = named_words("train")
    for split in ("dev", "test"):
        names = [name for name in named_words(split) if name[0].isupper()]
        assert sum(name not in training_names for name in names) > 0.3 * len(names)


def test_words_are_ambiguous():
    assert sum(len(types) > 1 for types in named_words("train").values()) > 80
    tags = defaultdict(set)
    for example in examples("train"):
        for word, tag in zip(example.words, example.tags, strict=True):
            tags[word].add(tag[2:] or "O")
    assert tags["May"] >= {"PER", "DATE", "O"}
    assert tags["Will"] == {"PER", "O"}
    assert tags["Mark"] == {"PER", "PRODUCT"}


def test_a_word_list_scores_low():
    counts = defaultdict(Counter)
    for example in examples("train"):
        for word, tag in zip(example.words, example.tags, strict=True):
            counts[word][tag] += 1
    word_list = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    test = examples("test")
    predicted = [[word_list.get(word, "O") for word in example.words] for example in test]
    assert score_tags([example.tags for example in test], predicted).overall.f1 == pytest.approx(29.65, abs=0.01)
