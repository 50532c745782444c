"""Answers to questions as records."""

from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.outputs.answers.squad import NBestEntry, SquadPrediction
from bert_cli.predicting.question_answerer import answer_record

EXAMPLE = SquadExample("1", "Who barks?", split_context("It rains. A dog barks. A cat sleeps."))
DOG = NBestEntry("dog", 0.75, 2.0, 1.0, (12, 15))
NOTHING = NBestEntry("", 0.25, 0.0, 0.0, None)


def test_an_answer_with_its_sentence():
    record = answer_record(EXAMPLE, SquadPrediction("1", "dog", (12, 15), (DOG, NOTHING), None, True))
    assert record == {
        "id": "1",
        "question": "Who barks?",
        "answer": "dog",
        "probability": 0.75,
        "start": 12,
        "end": 15,
        "sentence": "A dog barks.",
        "nbest": [
            {"text": "dog", "probability": 0.75, "start": 12, "end": 15},
            {"text": "", "probability": 0.25, "start": None, "end": None},
        ],
    }


def test_no_answer():
    record = answer_record(EXAMPLE, SquadPrediction("1", "", None, (NOTHING, DOG), 1.5, True))
    assert (record["answer"], record["probability"], record["sentence"], record["null_odds"]) == ("", 0.25, None, 1.5)


def test_contexts_without_a_candidate():
    only_entry = NBestEntry("empty", 1.0, 0, 0, None)
    record = answer_record(EXAMPLE, SquadPrediction("1", "empty", None, (only_entry,), None, False))
    assert (record["answer"], record["nbest"]) == ("", [])
