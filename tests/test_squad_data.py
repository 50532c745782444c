"""The sample in data/squad: reproducible, disjoint, with answers at their positions."""

import importlib.util
import json
import pathlib
import sys

import pytest

from bert_cli.examples.squad.reading import read_gold_answers
from bert_cli.examples.squad.source import QuestionSource
from bert_cli.examples.squad.training import read_training_examples

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "data" / "squad"
SIZES = {"train": 2000, "dev": 300, "dev-v2": 300}


@pytest.fixture(scope="module")
def generator():
    specification = importlib.util.spec_from_file_location("make_squad", ROOT / "data" / "make_squad.py")
    module = importlib.util.module_from_spec(specification)
    sys.modules["make_squad"] = module  # dataclasses look up their module
    specification.loader.exec_module(module)
    return module


def paragraphs(name: str) -> list[dict]:
    content = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return [paragraph for article in content["data"] for paragraph in article["paragraphs"]]


def questions(name: str) -> list[tuple[str, dict]]:
    return [(paragraph["context"], question) for paragraph in paragraphs(name) for question in paragraph["qas"]]


def test_the_generator_reproduces_the_files(generator):
    for name, content in generator.make_squad(SIZES, 12345).items():
        assert content.encode() == (FOLDER / name).read_bytes(), name


def test_another_seed_makes_other_questions(generator):
    assert generator.make_squad({"dev": 8}, 1) != generator.make_squad({"dev": 8}, 2)


@pytest.mark.parametrize("name", SIZES)
def test_answers_are_at_their_positions(name):
    file_questions = questions(name)
    assert len(file_questions) == SIZES[name]
    for context, question in file_questions:
        for answer in question["answers"]:
            start = answer["answer_start"]
            assert context[start : start + len(answer["text"])] == answer["text"]
            assert answer["text"] == answer["text"].strip() != ""


def test_the_command_reads_the_files(caplog):
    training = read_training_examples(QuestionSource(str(FOLDER / "train.json"))).examples
    assert len(training) == SIZES["train"]
    assert not caplog.records
    assert all(read_gold_answers(QuestionSource(str(FOLDER / "dev.json"))).values())
    lacking = [
        qas_id
        for qas_id, answers in read_gold_answers(QuestionSource(str(FOLDER / "dev-v2.json"))).items()
        if not answers
    ]
    marked = [question["id"] for _, question in questions("dev-v2") if question["is_impossible"]]
    assert lacking == marked
    assert len(marked) == 100


def test_stories_and_their_questions_are_unique():
    contexts = [paragraph["context"] for name in SIZES for paragraph in paragraphs(name)]
    assert len(set(contexts)) == len(contexts)
    for name in SIZES:
        for paragraph in paragraphs(name):
            texts = [question["question"] for question in paragraph["qas"]]
            assert len(set(texts)) == len(texts)


def test_a_place_or_time_occurs_once_in_its_story():
    """Each question therefore has a single answer."""
    for context, question in questions("dev"):
        if question["question"].startswith(("Where", "When")):
            assert context.lower().count(question["answers"][0]["text"].lower()) == 1
