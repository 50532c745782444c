"""Data for bert-squad, and a call of it, for several tests."""

import json
import pathlib

from bert_cli.run_squad import main
from tests.commands import helpers
from tests.commands.helpers import Outcome, words

PEOPLE = ("farmer", "teacher")
ANIMALS = ("cat", "dog", "bird", "fish", "horse")
PLACES = ("house", "garden", "river")


def answer(context: str, text: str) -> dict:
    return {"text": text, "answer_start": context.index(text)}


def story(number: int) -> tuple[str, dict[str, str]]:
    """Return a context, and questions with their answers."""
    person, friend = PEOPLE[number % 2], PEOPLE[1 - number % 2]
    animal, second = ANIMALS[number % 5], ANIMALS[(number + 2) % 5]
    place = PLACES[number % 3]
    context = (
        f"The old {person} sees a {animal} in the {place}. My {friend} likes a small {second}, and never buys bread."
    )
    return context, {f"the {person} sees a ?": animal, f"a {animal} in the ?": place}


def write_data(path: pathlib.Path, stories: int = 12, impossible: bool = False) -> pathlib.Path:
    paragraphs = []
    for number in range(stories):
        context, questions = story(number)
        qas = []
        for index, (question, text) in enumerate(questions.items()):
            entry = {"id": f"{number}-{index}", "question": question, "answers": [answer(context, text)]}
            if impossible:
                entry["is_impossible"] = index == 1
                entry["answers"] = [] if index == 1 else entry["answers"]
            qas.append(entry)
        paragraphs.append({"context": context, "qas": qas})
    path.write_text(
        json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}), encoding="utf-8"
    )
    return path


def base_flags(model: pathlib.Path) -> dict[str, object]:
    return {
        "vocab_file": model / "vocab.txt",
        "bert_config_file": model / "bert_config.json",
        # Short, so that contexts need several windows.
        "max_seq_length": 26,
        "doc_stride": 6,
        "max_query_length": 8,
        "train_batch_size": 4,
        "num_train_epochs": 0.6,
        "save_checkpoints_steps": 4,
        "learning_rate": 0.003,
        "precision": "float32",
        "report": "false",
    }


def train(model: pathlib.Path, folder: pathlib.Path) -> None:
    """Train some steps on both kinds of questions, into folder / "out"."""
    data = write_data(folder / "data.json", impossible=True)
    flags = base_flags(model) | {
        "train_file": data,
        "output_dir": folder / "out",
        "num_train_epochs": 1.5,
        "report": "true",
    }
    assert main(["--do_train", "--version_2_with_negative", *words(flags)]) == 0


def call(capfd, tasks, flags: dict[str, object]) -> Outcome:
    return helpers.call(capfd, "bert-squad", main, *tasks, *words(flags))


def read(path: pathlib.Path):
    return json.loads(path.read_text(encoding="utf-8"))
