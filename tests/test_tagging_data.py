"""The sample in data/tagging: made by its generator, disjoint, in valid BIO, and not solved by word lists."""

import importlib.util
import pathlib
import sys
from collections import Counter, defaultdict

import pytest

from bert_cli.examples.tag_schemes import find_entities, from_bio, to_bio
from bert_cli.examples.token_files.bio_tags import convert_to_bio
from bert_cli.examples.token_files.columns import read_columns
from bert_cli.outputs.tagging import score_tags

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZES = {"train": 2000, "dev": 300, "test": 300}


def examples(split):
    return read_columns(str(ROOT / "data" / "tagging" / f"{split}.txt")).examples


@pytest.fixture(scope="module")
def generator():
    specification = importlib.util.spec_from_file_location("make_tagging", ROOT / "data" / "make_tagging.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["make_tagging"] = module  # dataclasses look their module up
    specification.loader.exec_module(module)
    return module


def test_the_generator_makes_these_very_files(generator):
    for name, content in generator.make_tagging(SIZES, 12345).items():
        assert content.encode() == (ROOT / "data" / "tagging" / name).read_bytes(), name


def test_another_seed_makes_others(generator):
    assert generator.make_tagging({"test": 3}, 1) != generator.make_tagging({"test": 3}, 2)


@pytest.mark.parametrize("split", SIZES)
def test_size_scheme_and_types(split):
    found, notation = convert_to_bio(read_columns(str(ROOT / "data" / "tagging" / f"{split}.txt")))
    assert (str(notation), len(found.examples)) == ("BIO", SIZES[split])
    assert all(example.tags == to_bio(from_bio(example.tags, "IOB1"), "IOB1") for example in found.examples)
    types = Counter(entity.type for example in found.examples for entity in find_entities(example.tags))
    assert set(types) == {"DATE", "LOC", "ORG", "PER", "PRODUCT"}
    assert min(types.values()) > 0.05 * types.total()


def test_no_sentence_stands_twice():
    sentences = [" ".join(example.words).lower() for split in SIZES for example in examples(split)]
    assert len(set(sentences)) == len(sentences) == sum(SIZES.values())


def named_words(split, kinds=("PER", "LOC", "ORG", "PRODUCT")):
    found = defaultdict(set)
    for example in examples(split):
        for word, tag in zip(example.words, example.tags, strict=True):
            if tag[2:] in kinds:
                found[word].add(tag[2:])
    return found


def test_names_that_training_never_saw():
    known = named_words("train")
    for split in ("dev", "test"):
        names = [name for name in named_words(split) if name[0].isupper()]
        assert sum(name not in known for name in names) > 0.3 * len(names)


def test_one_word_names_different_things():
    assert sum(len(types) > 1 for types in named_words("train").values()) > 80
    tags = defaultdict(set)
    for example in examples("train"):
        for word, tag in zip(example.words, example.tags, strict=True):
            tags[word].add(tag[2:] or "O")
    assert tags["May"] >= {"PER", "DATE", "O"}
    assert tags["Will"] == {"PER", "O"}
    assert tags["Mark"] == {"PER", "PRODUCT"}


def test_a_list_of_words_does_not_solve_it():
    counts = defaultdict(Counter)
    for example in examples("train"):
        for word, tag in zip(example.words, example.tags, strict=True):
            counts[word][tag] += 1
    listed = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    test = examples("test")
    predicted = [[listed.get(word, "O") for word in example.words] for example in test]
    assert score_tags([example.tags for example in test], predicted).overall.f1 == pytest.approx(29.65, abs=0.01)
