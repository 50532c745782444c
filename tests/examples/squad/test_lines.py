"""Lines with a question and its context."""

import pytest

from bert_cli.examples.squad.lines import QuestionLines
from tests.input_errors import error_of
from tests.snapshots import check_message


def test_lines_of_questions():
    lines = [
        '{"id": "a", "question": "Who?", "context": "Ann  did.", "title": "x"}\n',
        "\n",
        '{"id": null, "question": "", "context": ""}\n',
    ]
    questions = QuestionLines(lines, "stdin")
    first, second = questions
    assert (first.qas_id, first.question, first.paragraph.doc_tokens) == ("a", "Who?", ("Ann", "did."))
    assert (second.qas_id, second.paragraph.doc_tokens) == ("3", ())
    assert questions.facts.describe() == "2 questions; not used: title; left out: blank lines (1; line 2)"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\n[", ":2: "),
        ("3", ":1: "),
        ('{"question": "a"}', ":1: "),
        ('{"question": 1, "context": "b"}', ":1.question: "),
        ('{"id": 0.5, "question": "a", "context": "b"}', ":1.id: "),
        ('{"id": "1", "question": "a", "context": "b"}\n' * 2, ":2: "),
    ],
)
def test_lines_that_are_not_questions(text, place):
    check_message(error_of(lambda: list(QuestionLines(text.split("\n"), "lines.jsonl"))), place)
