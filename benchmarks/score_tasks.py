"""Public tasks with a dev score, written as files that our commands and the peer read.

Classification and regression are JSON lines with text, text_b and label; tagging is a word and a
tag per line, with an empty line between sentences.
"""

import dataclasses
import json
import pathlib
import random
from collections.abc import Callable, Mapping

CLASSES, NUMBER, TAGS = "classes", "number", "tags"  # kinds of tasks
_SPLIT_SEED = 1


class DataError(Exception):
    """A data set is missing; the message names its file."""


@dataclasses.dataclass(frozen=True)
class Row:
    """A text or a pair with its label, or a sentence with its tags.

    Attributes:
        text: the text; for tagging the words, separated by spaces.
        label: the label, the number as text, or the tags separated by spaces.
        text_b: second text, "" for a single text.
    """

    text: str
    label: str
    text_b: str = ""


Splits = tuple[list[Row], list[Row]]  # training and dev rows


def _lines(path: pathlib.Path) -> list[str]:
    if not path.exists():
        raise DataError(f"{path}: no such file; --data names the directory with the data sets")
    return path.read_text(encoding="utf-8").splitlines()


def _cut(rows: list[Row], num_dev: int) -> Splits:
    """Return shuffled rows, cut into training and dev rows."""
    random.Random(_SPLIT_SEED).shuffle(rows)
    return rows[num_dev:], rows[:num_dev]


def read_cola(folder: pathlib.Path) -> Splits:
    train, dev = (
        [Row(cells[3], cells[1]) for cells in (line.split("\t") for line in _lines(folder / f"cola/{split}.tsv"))]
        for split in ("train", "dev")
    )
    return train, dev


def read_sst2(folder: pathlib.Path) -> Splits:
    train, dev = (
        [Row(*line.rsplit("\t", 1)) for line in _lines(folder / f"sst-2/{split}.tsv")] for split in ("train", "dev")
    )
    return train, dev


def read_stsb(folder: pathlib.Path) -> Splits:
    """Return pairs with a similarity from 0 to 5; the file is GLUE's dev set, cut in two."""
    cells = [line.split("\t") for line in _lines(folder / "sts-b/dev.tsv")[1:]]
    return _cut([Row(row[7], row[9], row[8]) for row in cells], 450)


def read_rte(folder: pathlib.Path) -> Splits:
    train, dev = (
        [Row(row[1], row[3], row[2]) for row in (line.split("\t") for line in _lines(folder / f"rte/{split}.tsv")[1:])]
        for split in ("train", "dev")
    )
    return train, dev


def read_topics(folder: pathlib.Path) -> Splits:
    """Return SQuAD's questions, with the title of their article as the topic."""
    text = "\n".join(_lines(folder / "squad/train-v1.1.json"))
    questions = [
        Row(" ".join(question["question"].split()), article["title"])
        for article in json.loads(text)["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    return _cut(questions, 1000)


def read_sms(folder: pathlib.Path) -> Splits:
    rows = [Row(text, label) for label, text in (line.split("\t", 1) for line in _lines(folder / _SMS))]
    return _cut(rows, 1000)


def read_yelp(folder: pathlib.Path) -> Splits:
    rows = [Row(*map(str.strip, line.rsplit("\t", 1))) for line in _lines(folder / "yelp/yelp_labelled.txt")]
    return _cut(rows, 300)


def read_wnut(folder: pathlib.Path) -> Splits:
    """Return sentences with the tags of their entities."""
    train, dev = (_sentences(_lines(folder / "wnut17" / name)) for name in ("wnut17train.conll", "emerging.dev.conll"))
    return train, dev


def _sentences(lines: list[str]) -> list[Row]:
    rows: list[Row] = []
    words: list[list[str]] = []
    for line in [*lines, ""]:
        if line.strip():
            words.append(line.split("\t"))
        elif words:
            rows.append(Row(" ".join(word for word, _ in words), " ".join(tag for _, tag in words)))
            words = []
    return rows


_SMS = "sms_spam/SMSSpamCollection.tsv"


@dataclasses.dataclass(frozen=True)
class ScoredTask:
    """A task with its dev score.

    Attributes:
        kind: CLASSES, NUMBER or TAGS.
        metric: the score's name in our history.
        read: returns all rows.
        rows: training rows without --full.
        best: the Trainer's learning rate and batch size in trainer-best: the best of (3e-4, 8),
            (3e-4, 16) and (1e-3, 32) on most tasks, with one seed.
        unit: factor for our score, because bert-tag reports percentages.
    """

    kind: str
    metric: str
    read: Callable[[pathlib.Path], Splits]
    rows: int
    best: tuple[float, int] = (3e-4, 8)
    unit: float = 1.0


TASKS: Mapping[str, ScoredTask] = {
    "cola": ScoredTask(CLASSES, "eval_mcc", read_cola, 2000),
    "sst-2": ScoredTask(CLASSES, "eval_accuracy", read_sst2, 2000),
    "sts-b": ScoredTask(NUMBER, "eval_pearson", read_stsb, 1050),
    "topics": ScoredTask(CLASSES, "eval_accuracy", read_topics, 2000),
    "wnut17": ScoredTask(TAGS, "eval_f1", read_wnut, 2000, unit=0.01),
    "rte": ScoredTask(CLASSES, "eval_accuracy", read_rte, 2490),
    "sms": ScoredTask(CLASSES, "eval_mcc", read_sms, 1000),
    "yelp": ScoredTask(CLASSES, "eval_accuracy", read_yelp, 700),
}
REPORTED = ("cola", "sst-2", "sts-b", "topics", "wnut17")  # default of --only


def write_task(task: ScoredTask, data: pathlib.Path, folder: pathlib.Path, is_full: bool) -> dict[str, pathlib.Path]:
    """Write a task's training and dev file, and return their paths by split.

    Args:
        task: the task.
        data: directory with the data sets.
        folder: new directory.
        is_full: whether to use all training rows; otherwise a sample of `task.rows`.
    """
    train, dev = task.read(data)
    if not is_full and len(train) > task.rows:
        train = random.Random(_SPLIT_SEED).sample(train, task.rows)
    folder.mkdir(parents=True)
    paths = {}
    for split, rows in (("train", train), ("dev", dev)):
        paths[split] = folder / f"{split}.{'conll' if task.kind == TAGS else 'jsonl'}"
        paths[split].write_text("".join(_show(task.kind, row) for row in rows), encoding="utf-8")
    return paths


def _show(kind: str, row: Row) -> str:
    if kind == TAGS:
        pairs = zip(row.text.split(" "), row.label.split(" "), strict=True)
        return "".join(f"{word}\t{tag}\n" for word, tag in pairs) + "\n"
    values = {"text": row.text} | ({"text_b": row.text_b} if row.text_b else {})
    return json.dumps(values | {"label": float(row.label) if kind == NUMBER else row.label}, ensure_ascii=False) + "\n"
