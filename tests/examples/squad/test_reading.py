"""Questions and correct answers: cases to check by hand, and all errors."""

import json
import logging

import pytest

from bert_cli.examples.squad.reading import read_gold_answers, read_scored_examples, read_squad_examples
from bert_cli.examples.squad.records import describe_questions
from bert_cli.examples.squad.source import QuestionSource
from bert_cli.examples.squad.training import read_training_examples
from tests.input_errors import error_of
from tests.snapshots import check_message
from tests.squad_files import CONTEXT, question, squad_file


def test_questions_to_predict(tmp_path):
    path = squad_file(tmp_path, question("q1"), {"id": 7, "question": ""})
    first, second = read_squad_examples(QuestionSource(path)).examples
    assert (first.qas_id, first.question, first.paragraph.context) == ("q1", "When?", CONTEXT)
    assert first.paragraph.doc_tokens == ("Ann", "Lee", "was", "born", "(1895).")
    assert (first.answer_text, first.start_position, first.is_impossible) == (None, None, False)
    assert (second.qas_id, second.question) == ("7", "")
    assert first.paragraph is second.paragraph
    assert describe_questions([first, second]) == "2 questions about 1 contexts"


def test_members_that_are_not_used(tmp_path):
    path = tmp_path / "q.json"
    paragraphs = [{"context": CONTEXT, "url": "x", "qas": [question("q1") | {"topic": 1}]}]
    path.write_text(
        json.dumps({"version": "1", "data": [{"title": "Ann", "paragraphs": paragraphs}]}), encoding="utf-8"
    )
    assert read_squad_examples(QuestionSource(str(path))).facts.not_used == ("version", "topic", "url", "title")


def test_repeated_id_is_refused(tmp_path):
    path = squad_file(tmp_path, question("q", ("Ann", 0)), question("q", ("Lee", 4)))
    expected = "qas[1]: the id 'q' is also the id of"
    for read in (read_squad_examples, read_gold_answers, read_scored_examples):
        message = error_of(read, QuestionSource(path))
        assert expected in message
        assert message.count("data[0].paragraphs[0].qas[") == 2


def test_questions_without_id_get_an_id(tmp_path, caplog):
    without = question(None)
    del without["id"]
    path = squad_file(tmp_path, without, question("question-1"), question(None), question("question-3_"), question(7))
    expected = ["question-1_", "question-1", "question-3", "question-3_", "7"]
    with caplog.at_level(logging.INFO, "bert_cli"):
        assert [example.qas_id for example in read_squad_examples(QuestionSource(path)).examples] == expected
    (line,) = [record.getMessage() for record in caplog.records]
    check_message(line, f"{path}: ")
    assert list(read_gold_answers(QuestionSource(path))) == expected


def test_questions_are_scored_with_new_ids(tmp_path, caplog):
    path = squad_file(tmp_path, question(None, ("Ann", 0)), question(None, ("Lee", 4)))
    with caplog.at_level(logging.INFO, "bert_cli"):
        (examples, _), gold = read_scored_examples(QuestionSource(path))
    assert [example.qas_id for example in examples] == list(gold) == ["question-1", "question-2"]
    assert len(caplog.records) == 1


def test_gold_answers_of_questions_without_a_mark(tmp_path):
    path = squad_file(
        tmp_path, question("q1", ("Ann", 0)), question("q2"), question("q3", ("Lee", 4), is_impossible="?")
    )
    assert read_gold_answers(QuestionSource(path)) == {"q1": ("Ann",), "q2": (), "q3": ("Lee",)}


@pytest.mark.parametrize("mark", [True, 1, "true"])
def test_gold_answers_of_impossible_questions(tmp_path, mark):
    path = squad_file(tmp_path, {"id": "q", "question": "?", "is_impossible": mark, "answers": None})
    assert read_gold_answers(QuestionSource(path)) == {"q": ()}


@pytest.mark.parametrize("fields", [{}, {"is_impossible": False}, {"plausible_answers": []}])
def test_gold_answers_are_not_guessed(tmp_path, fields):
    check_message(
        error_of(read_gold_answers, QuestionSource(squad_file(tmp_path, {"id": "q", "question": "?", **fields}))),
        "qas[0]: ",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"data": [\n{"paragraphs": [}]}', ":2: is not JSON: "),
        ("", ": holds no question; a SQuAD file is"),
        ("[" * 100_000, ":1: cannot be read as JSON: "),
        ('{"data": ' + "1" * 5000 + "}", ":1: cannot be read as JSON: "),
        ("[]", ": holds no question; a SQuAD file is"),
        ("[3]", ": [0]: is a number, an object is needed; a SQuAD file is"),
        ("null", ": is null, an object is needed; a SQuAD file is"),
        ("{}", ': has no "data"; a SQuAD file is'),
        ('{"data": {}}', ".data: is an object, an array is needed"),
        ('{"data": []}', ": holds no question; a SQuAD file is"),
        ('{"data": [3]}', ": data[0]: is a number, an object is needed"),
        ('{"data": [{}]}', ': data[0]: has no "paragraphs"'),
        ('{"data": [{"paragraphs": [{}]}]}', ': data[0].paragraphs[0]: has no "context"'),
        ('{"data": [{"paragraphs": [{"context": "a"}]}]}', ': data[0].paragraphs[0]: has no "qas"'),
        ('{"data": [{"paragraphs": [{"context": "a", "qas": [{}]}]}]}', ': qas[0]: has no "question"'),
        (
            '{"data": [{"paragraphs": [{"context": "a", "qas": [{"question": "b", "id": [1]}]}]}]}',
            "qas[0].id: is an array",
        ),
        ('{"context": "a"}', ':1: has no "question"'),
        ('{"data": [{"context": 1, "question": "b"}]}', ": data[0].context: is a number, a string is needed"),
        ('[\n{"context": "a", "question": "b", "answers": []},\n{"context": "a"}]', ': [1]: has no "question"'),
        ('{"context": "a", "question": "b", "answers": []}\n{"context": "a"', ":2: is not JSON: "),
    ],
)
@pytest.mark.parametrize("read", [read_squad_examples, read_training_examples, read_gold_answers])
def test_files_with_another_layout(tmp_path, read, text, expected):
    path = tmp_path / "bad.json"
    path.write_text(text)
    message = error_of(read, QuestionSource(str(path)))
    assert message.startswith(str(path))
    assert expected.replace(": qas", ".qas") in message


RECORDS = [
    {
        "id": "q1",
        "title": "Ann",
        "question": "When?",
        "context": CONTEXT,
        "answers": {"text": ["1895"], "answer_start": [19]},
    },
    {"id": "q2", "question": "Who?", "context": CONTEXT, "answers": [{"text": "Ann Lee", "answer_start": 0}]},
    {"id": 3, "question": "Who?", "context": "Tom left.", "answers": {"text": ["Tom", "Tom"], "answer_start": [0, 0]}},
]


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(map(json.dumps, RECORDS)) + "\n",
        "\n\n".join(json.dumps(record, indent=1) for record in RECORDS),
        json.dumps(RECORDS),
        json.dumps({"version": "1", "data": RECORDS}, indent=1),
        json.dumps({"features": [], "rows": [{"row_idx": 0, "row": record} for record in RECORDS]}),
    ],
    ids=["lines", "several values", "array", "data", "server"],
)
def test_records_with_one_question(tmp_path, text):
    path = tmp_path / "records.json"
    path.write_text(text)
    first, second, third = read_training_examples(QuestionSource(str(path)), multiple_answers="first").examples
    assert [(first.start_position, first.end_position), second.end_position, third.answer_text] == [(4, 4), 1, "Tom"]
    assert first.paragraph is second.paragraph
    assert third.paragraph.context == "Tom left."
    assert [example.qas_id for example in read_squad_examples(QuestionSource(str(path))).examples] == ["q1", "q2", "3"]
    assert read_gold_answers(QuestionSource(str(path))) == {"q1": ("1895",), "q2": ("Ann Lee",), "3": ("Tom", "Tom")}


def test_cells_that_a_server_cut_are_refused_in_memory():
    answer = {"rows": [{"row": RECORDS[0], "truncated_cells": ["context"]}]}
    check_message(error_of(read_squad_examples, QuestionSource("questions", contents=answer)), "questions: ")


def test_a_record_without_answers_is_impossible(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(RECORDS[0] | {"answers": {"text": [], "answer_start": []}}))
    (example,) = read_training_examples(QuestionSource(str(path)), version_2_with_negative=True).examples
    assert example.is_impossible
    assert read_gold_answers(QuestionSource(str(path))) == {"q1": ()}
    check_message(error_of(read_training_examples, QuestionSource(str(path))), f"{path}:1: ")


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"text": ["a"]},
        {"text": "a", "answer_start": 0},
        {"text": ["a"], "answer_start": [0, 1]},
        {"text": ["a"], "answer_start": [0.5]},
        "a",
    ],
)
def test_answers_of_another_form(tmp_path, answers):
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(RECORDS[0] | {"answers": answers}))
    check_message(error_of(read_gold_answers, QuestionSource(str(path))), path)


def test_gold_answers(tmp_path):
    unanswered = {"id": "q3", "question": "?", "is_impossible": True}
    path = squad_file(tmp_path, question("q1", ("Ann", 0), ("Lee", 4)), question("q2"), unanswered)
    assert read_gold_answers(QuestionSource(path)) == {"q1": ("Ann", "Lee"), "q2": (), "q3": ()}
