"""Decisions about data files: format, columns, rows, labels and warnings of every reader.

`python -m tests.decisions` prints them for each file in tests/fixtures and data/, and
`python -m tests.decisions shared` for the files in ../shared/cases. With `--update`, it writes
tests/decisions.txt or tests/decisions_shared.txt instead, which tests/test_decisions.py compares.

A section has the file's path, and a line per reader: its decisions or its error, followed by its
log. Rows are shown as their number and a checksum. For ../shared/cases, the stored
file has shorter lines, and a checksum for each log.
"""

import contextlib
import logging
import os
import pathlib
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.examples.squad.reading import read_questions
from bert_cli.examples.squad.source import QuestionSource
from bert_cli.examples.squad.training import read_training_examples
from bert_cli.examples.table_texts import read_table_texts
from bert_cli.examples.text_lines import read_text_lines
from bert_cli.examples.token_files.notation import DETECTED
from bert_cli.flags.option import build
from bert_cli.reading.columns.facts import log_facts
from bert_cli.reading.probe import open_table
from bert_cli.reading.source import Source
from bert_cli.runs.tasks.classification.data import ClassificationData, problem_type_from_flags, read_data
from bert_cli.runs.tasks.tagging_files import read_tagging_split
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.data import PLAIN, Columns
from bert_cli.settings.tagging import TagSettings

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Folders to search, from the root, by the file with their decisions.
GOLDEN = {"decisions.txt": ("data", "tests/fixtures"), "decisions_shared.txt": ("../shared/cases",)}
_SUFFIXES = (
    ".csv", ".tsv", ".txt", ".json", ".jsonl", ".gz", ".xlsx", ".xls", ".ods", ".parquet", ".feather", ".ann", ".conll",
    ".spacy",
)  # fmt: skip
_TASKS = ("cola", "mrpc")  # the others have the same header rules
# Patterns of files in folders that are models, not data.
_MODELS = ("*config.json", "checkpoint", "*.safetensors", "saved_model.pb")
_MAX_LENGTH = 300  # characters of a line
_MAX_SHORT_LENGTH = 120


def find_files(folder: pathlib.Path) -> list[pathlib.Path]:
    """Return the data files in a folder, and its folders with documents of brat."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix in _SUFFIXES]
    models = {folder for folder in {path.parent for path in files} if any(map(any, map(folder.glob, _MODELS)))}
    files = [path for path in files if path.parent not in models]
    documents = {path.parent for path in files if path.suffix == ".ann"}
    return sorted([*files, *documents], key=lambda path: path.as_posix())


def checksum(rows: Iterable[Any]) -> str:
    """Return the row count and a checksum of all cells."""
    texts = [repr(row) for row in rows]
    return f"{len(texts)} rows {zlib.crc32(chr(10).join(texts).encode('utf-8', 'surrogatepass')):08x}"


def describe_layout(path: str) -> str:
    """Return a table's format."""
    layout = open_table(path, "train_file", PLAIN).layout
    names = ("delimiter",) if layout.delimiter else ()
    names += ("quoting", "has_directive", "names", "description")
    values = [f"{name} {value!r}" for name in names if (value := getattr(layout, name, None)) is not None]
    return f"{type(layout).__name__}: {', '.join(values)}"


def describe_data(data: ClassificationData, split: str) -> str:
    """Return the labels, columns and rows that bert-classify decided."""
    values: Mapping[str, object] = {"columns": data.guesses, "flags": data.resolved_flags}
    decided = ", ".join(f"{name}={value}" for group in values.values() for name, value in group.items())  # type: ignore[attr-defined]
    examples = data.splits[split]
    rows = [(example.guid, example.identifier, example) for example in examples]
    return f"{data.problem_type.name} {', '.join(data.labels)}; {decided or 'no columns'}; {checksum(rows)}"


def read_classification(path: str, split: str, *, task: str = "", labels: tuple[str, ...] | None = None) -> str:
    """Return the decisions of bert-classify about a file to train on or to predict."""
    values: dict[str, Any] = {"do_train": True, "train_file": path}
    if split == "test":
        values = {"do_predict": True, "predict_file": path}
    settings = build(ClassifySettings, values | ({"task_name": task} if task else {}))
    problem_type = problem_type_from_flags(settings)
    return describe_data(read_data(settings, labels, problem_type), split)


def read_tags(path: str, split: str) -> str:
    """Return the decisions of bert-tag."""
    file, notation, has_tags = read_tagging_split(split, path, build(TagSettings, {}), DETECTED, "prodigy")
    log_facts(file.facts)
    lines = checksum(file.lines)
    examples = checksum(file.examples)
    return f"{file.format}; header {file.header}; tags {has_tags}; {notation}; {file.unit}; {examples}; lines {lines}"


def read_lines(path: str) -> str:
    """Return the texts and pairs in a file of lines."""
    lines = list(read_text_lines(Source(path)))
    return f"{sum(line.text_b is not None for line in lines)} pairs; {checksum(lines)}"


def read_all_questions(path: str) -> str:
    """Return the questions with their contexts and objects."""
    file = read_questions(QuestionSource(path))
    questions = file.questions
    log_facts(file.facts(len(questions)))
    return checksum(
        (question.qas_id, question.text, question.paragraph.context, question.fields) for question in questions
    )


def read_answers(path: str) -> str:
    """Return the training examples of bert-squad."""
    examples, facts = read_training_examples(QuestionSource(path), True, "all")
    log_facts(facts)
    return checksum(examples)


def readers(path: str) -> dict[str, Callable[[], str]]:
    """Return each reader's name and its decisions about a file."""
    tasks = {
        f"{task} {split}": lambda task=task, split=split: read_classification(path, split, task=task)
        for task in (_TASKS if path.endswith((".tsv", ".txt")) else ())
        for split in ("train", "test")
    }
    return {
        "layout": lambda: describe_layout(path),
        "train": lambda: read_classification(path, "train"),
        "predict": lambda: read_classification(path, "test", labels=("a", "b")),
        "texts": lambda: checksum(read_table_texts(path, Columns(), "auto", PLAIN)),
        **tasks,
        "tag train": lambda: read_tags(path, "train"),
        "tag test": lambda: read_tags(path, "test"),
        "questions": lambda: read_all_questions(path),
        "answers": lambda: read_answers(path),
        "lines": lambda: read_lines(path),
    }


class _Lines(logging.Handler):
    """Log messages as a list."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(f"{record.levelname.lower()}: {record.getMessage()}")


@contextlib.contextmanager
def log_messages() -> Iterator[list[str]]:
    """Collect messages from the package's log."""
    handler, level = _Lines(), LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    try:
        yield handler.messages
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(level)


def cut(text: str, folder: str, length: int) -> str:
    """Return a text without its folder's name, on one line of at most this length and a checksum."""
    text = text.replace(folder, "").replace("\n", "\\n")
    return text if len(text) <= length else f"{text[:length]} … {zlib.crc32(text.encode()):08x}"


def decide(path: str, is_short: bool = False) -> Iterator[str]:
    """Yield the lines of a file's section.

    Args:
        path: the file.
        is_short: whether lines are short, and the log is a checksum.
    """
    yield path
    folder = f"{os.path.dirname(path)}/"
    for name, read in readers(path).items():
        with log_messages() as messages:
            try:
                outcome = read()
            except (InputError, OSError) as error:
                outcome = f"error: {error}"
        log = [message.replace(folder, "") for message in messages]
        if is_short:
            summary = f" (log: {checksum(log).replace('rows', 'lines')})" if log else ""
            yield cut(f"  {name}: {outcome}", folder, _MAX_SHORT_LENGTH) + summary
        else:
            yield cut(f"  {name}: {outcome}", folder, _MAX_LENGTH)
            yield from (cut(f"    {message}", folder, _MAX_LENGTH) for message in log)


def decisions(golden: str, is_short: bool = False) -> Iterator[str]:
    """Yield the lines of a file in GOLDEN, see `decide`; a missing folder is a comment."""
    with contextlib.chdir(ROOT):
        for folder in GOLDEN[golden]:
            if not os.path.isdir(folder):
                yield f"# {folder} does not exist"
            for path in find_files(pathlib.Path(folder)):
                yield from decide(path.as_posix(), is_short)


def main(arguments: list[str]) -> None:
    """Print the decisions, or write the file with them."""
    golden = list(GOLDEN)["shared" in arguments]
    if "--update" in arguments:
        text = "".join(f"{line}\n" for line in decisions(golden, "shared" in arguments))
        (ROOT / "tests" / golden).write_text(text, encoding="utf-8")
    else:
        print(*decisions(golden), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
