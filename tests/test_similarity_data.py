"""The sample in data/similarity: reproducible, without rows of the dev file in the training file."""

import importlib.util
import pathlib
import random

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZES = {"train.tsv": 2000, "dev.tsv": 300, "scored_train.tsv": 2000, "scored_dev.tsv": 500}


@pytest.fixture(scope="module")
def generator():
    specification = importlib.util.spec_from_file_location("make_similarity", ROOT / "data" / "make_similarity.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def rows_of(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (ROOT / "data" / "similarity" / name).read_text().splitlines()]


def test_the_generator_reproduces_the_files(generator):
    for name, content in generator.make_files(SIZES, 12345).items():
        assert content.encode() == (ROOT / "data" / "similarity" / name).read_bytes(), name


def test_scores_count_equal_parts(generator):
    scene = (0, 1, 2, 3, 4)
    changed = generator.change(scene, 2, random.Random(1))
    assert sum(a == b for a, b in zip(scene, changed, strict=True)) == 3
    rows = rows_of("scored_train.tsv")[1:]
    assert {row[2] for row in rows} == set("012345")


@pytest.mark.parametrize("prefix", ["", "scored_"])
def test_no_sentence_is_in_both_files(prefix):
    train, dev = (
        {text for row in rows_of(f"{prefix}{split}.tsv")[1:] for text in row[:2]} for split in ("train", "dev")
    )
    assert len(rows_of(f"{prefix}train.tsv")) == 2001
    shared = train & dev
    assert len(shared) < 5, "a changed scene may be one of the other file"
