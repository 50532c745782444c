"""Questions in tables, and answers without an offset."""

import json

import pandas
import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.squad.reading import read_gold_answers, read_squad_examples
from bert_cli.examples.squad.source import QuestionSource
from bert_cli.examples.squad.training import read_training_examples
from bert_cli.settings.data import CSV_QUOTES, PLAIN
from tests.snapshots import raises

CONTEXT = "On Monday Anna found 2 keys, in Lund."
ROWS = [
    {"id": "a", "question": "Who found the keys?", "context": CONTEXT, "answer": "Anna"},
    {"id": "b", "question": "How many?", "context": CONTEXT, "answer": "2"},
    {"id": "c", "question": "Where?", "context": "Tom slept.\nIn Rome, in Rome.", "answer": "in Rome"},
]
EXPECTED = [("a", "Anna", 2, 2), ("b", "2", 4, 4), ("c", "in Rome", 4, 5)]


def write(path, rows):
    """Write a table; its name decides the format."""
    frame = pandas.DataFrame(rows)
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".tsv":
            frame.to_csv(path, sep="\t", index=False)
        case ".xlsx":
            frame.to_excel(path, index=False)
        case ".parquet":
            frame.to_parquet(path)
        case ".jsonl":
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return str(path)


def train(path, form=PLAIN, **options):
    examples = read_training_examples(QuestionSource(path, form), **options).examples
    return [(row.qas_id, row.answer_text, row.start_position, row.end_position) for row in examples]


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.xlsx", "t.parquet", "t.jsonl"])
def test_answers_are_found_in_every_format(name, tmp_path):
    path = write(tmp_path / name, ROWS)
    form = PLAIN._replace(quoting=CSV_QUOTES) if name == "t.tsv" else PLAIN
    assert train(path, form=form) == EXPECTED
    assert read_gold_answers(QuestionSource(path, form)) == {"a": ("Anna",), "b": ("2",), "c": ("in Rome",)}
    assert [row.question for row in read_squad_examples(QuestionSource(path, form)).examples] == [
        row["question"] for row in ROWS
    ]


def test_offsets_and_other_names(tmp_path):
    rows = [
        {
            "Query": "Where?",
            "Passage": "In Rome, not in Rome.",
            "Answer text": "Rome",
            "Answer_start": 16,
            "source": "x",
        },
        {
            "Query": "Where?",
            "Passage": "In Rome, not in Rome.",
            "Answer text": "Rome",
            "Answer_start": 3,
            "source": "x",
        },
    ]
    path = write(tmp_path / "t.csv", rows)
    assert train(path) == [("question-1", "Rome", 4, 4), ("question-2", "Rome", 1, 1)]
    assert read_squad_examples(QuestionSource(path)).facts.not_used == ("source",)


def test_questions_without_an_answer(tmp_path):
    rows = [
        {"question": "Who?", "context": CONTEXT, "answer": ""},
        {"question": "Who?", "context": CONTEXT, "answer": "Anna"},
    ]
    path = write(tmp_path / "t.csv", rows)
    assert [row[1:] for row in train(path, version_2_with_negative=True)] == [("", -1, -1), ("Anna", 2, 2)]
    with raises(InputError, "t.csv:2: has no answer"):
        train(path)
    unanswered = write(tmp_path / "new.csv", [{"question": "Who?", "context": CONTEXT}])
    assert len(read_squad_examples(QuestionSource(unanswered)).examples) == 1
    with raises(InputError, "new.csv:2: "):
        train(unanswered)


def test_answers_that_are_absent_are_left_out(tmp_path, caplog):
    path = write(tmp_path / "t.csv", [*ROWS, {"id": "d", "question": "Who?", "context": CONTEXT, "answer": "Bob"}])
    read = read_training_examples(QuestionSource(path))
    assert [row.qas_id for row in read.examples] == ["a", "b", "c"]
    assert [str(rows) for rows in read.facts.left_out] == ["answers that are not at their answer_start (1)"]


@pytest.mark.parametrize(
    ("context", "answer", "fragment"),
    [
        ("In Rome, in Rome.", "Rome", "t.csv:2: the answer 'Rome' occurs 2 times"),
        ("abab", "ab", "occurs 2 times"),
        ("2 of 2, or 2", "2", "occurs 3 times"),
    ],
)
def test_several_occurrences_are_asked_about(context, answer, fragment, tmp_path):
    path = write(tmp_path / "t.csv", [{"question": "Where?", "context": context, "answer": answer}])
    with raises(InputError, fragment):
        train(path)
    # The score needs no offset.
    assert read_gold_answers(QuestionSource(path)) == {"question-1": (answer,)}


def test_whole_words_are_preferred(tmp_path):
    rows = [
        {"question": "Who?", "context": "Hannah met Ann.", "answer": "Ann"},
        {"question": "Which year?", "context": "In 2024 Tom had 24.", "answer": "24"},
        {"question": "What?", "context": "the Fußball", "answer": "ball"},
    ]
    assert [row[1:] for row in train(write(tmp_path / "t.csv", rows))] == [("Ann", 2, 2), ("24", 4, 4), ("ball", 1, 1)]


def test_squad_files_without_offsets(tmp_path):
    questions = [{"id": "a", "question": "Who?", "answers": [{"text": "Anna"}]}]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": CONTEXT, "qas": questions}]}]}))
    assert train(str(path)) == [("a", "Anna", 2, 2)]


@pytest.mark.parametrize(
    ("row", "fragment"),
    [
        ({"question": "Who?", "text": CONTEXT, "answer": "Anna"}, "t.csv:1: has the columns"),
        ({"question": "Who?", "context": CONTEXT, "answer": "Anna", "start": "ten"}, "t.csv:2: answer_start is 'ten'"),
        ({"question": "Who?", "query": "?", "context": CONTEXT, "answer": "Anna"}, "t.csv:1: several columns"),
    ],
)
def test_malformed_tables_are_refused(row, fragment, tmp_path):
    with raises(InputError, fragment):
        train(write(tmp_path / "t.csv", [row]))


def test_an_empty_table_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("\n")
    with raises(InputError, "t.csv: is empty"):
        train(str(tmp_path / "t.csv"))


def test_rows_of_another_width_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("question,context,answer\nWho?,Anna, and Tom,Anna\n")
    with raises(InputError, "t.csv:2: 4 columns"):
        train(str(tmp_path / "t.csv"))


def test_answers_of_squad_in_a_column(tmp_path):
    """A list of objects was read as no answer, so that the question was impossible."""
    answers = [{"text": "Rome", "answer_start": 3}, {"text": "in Rome", "answer_start": 13}]
    rows = [{"question": "Where?", "context": "In Rome, not in Rome.", "answers": answers}]
    path = write(tmp_path / "t.parquet", rows)
    assert read_gold_answers(QuestionSource(path)) == {"question-1": ("Rome", "in Rome")}
    assert [row[1:] for row in train(path, multiple_answers="all")] == [("Rome", 1, 1), ("in Rome", 3, 4)]


@pytest.mark.parametrize("answers", [[{"words": "Rome"}], [{"text": 3, "answer_start": 1}], {"answer_start": [1]}])
def test_objects_that_are_no_answers_are_refused(answers, tmp_path):
    rows = [{"question": "Where?", "context": "In Rome.", "answers": answers}]
    with raises(InputError, "t.parquet:1: the answer is "):
        read_gold_answers(QuestionSource(write(tmp_path / "t.parquet", rows)))
