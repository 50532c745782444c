"""Answers as lines for the terminal."""

from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.features.packing import CutCounts
from bert_cli.outputs.answers.squad import NBestEntry, SquadPrediction
from bert_cli.predicting.question_answerer import answer_record
from bert_cli.runs.tasks.squad_interactive import format_answer, warn_cut_questions
from tests.snapshots import check_message

EXAMPLE = SquadExample("1", "Who barks?", split_context("It rains. A dog barks. A cat sleeps."))
DOG = NBestEntry("dog", 0.75, 2.0, 1.0, (12, 15))
NOTHING = NBestEntry("", 0.25, 0.0, 0.0, None)


def test_an_answer_with_its_sentence():
    record = answer_record(EXAMPLE, SquadPrediction("1", "dog", (12, 15), (DOG, NOTHING), None, True))
    assert format_answer(record) == ["dog", "  in: A dog barks.", "", "  0.7500  dog", "  0.2500  (no answer)"]


def test_no_answer():
    record = answer_record(EXAMPLE, SquadPrediction("1", "", None, (NOTHING, DOG), 1.5, True))
    assert format_answer(record)[:2] == ["(no answer)", ""]


def test_contexts_without_a_candidate():
    record = answer_record(
        EXAMPLE, SquadPrediction("1", "empty", None, (NBestEntry("empty", 1.0, 0, 0, None),), None, False)
    )
    assert format_answer(record) == ["(no answer: nothing in the context can be one)"]


def test_improbable_answers_are_not_shown():
    record = answer_record(
        EXAMPLE, SquadPrediction("1", "dog", (12, 15), (DOG, NBestEntry("A", 0.0009, 0, 0, (10, 11))), None, True)
    )
    assert format_answer(record)[3:] == ["  0.7500  dog"]


def test_cut_questions_are_reported(caplog):
    warn_cut_questions(CutCounts(3, 0, 20, 0), 64)
    assert not caplog.messages
    warn_cut_questions(CutCounts(3, 2, 20, 9), 64, "a.jsonl")
    check_message(caplog.messages[0], "--max_query_length")
