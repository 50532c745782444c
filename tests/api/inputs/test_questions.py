"""Questions in memory: the forms that notebooks have, and errors with their rows."""

import numpy as np
import pandas as pd
import pytest

from bert_cli.api.inputs.questions import number_questions
from bert_cli.base.errors import InputError
from bert_cli.examples.squad.reading import read_gold_answers
from bert_cli.examples.squad.training import read_training_examples
from tests.snapshots import raises

CONTEXT = "Anna lives in Rome."
ROW = {"question": "Where?", "context": CONTEXT, "answer": "Rome"}
ANSWERS = {"text": np.array(["Rome"], object), "answer_start": np.array([14])}
SQUAD_ANSWERS = [{"text": "Rome", "answer_start": 14}]


@pytest.mark.parametrize(
    "data",
    [
        [ROW],
        [("Where?", CONTEXT, "Rome")],
        [["Where?", CONTEXT, "Rome", 14]],
        (("Where?", CONTEXT, "Rome") for _ in range(1)),
        pd.DataFrame([ROW]),
        pd.DataFrame([{"Query": "Where?", "Passage": CONTEXT, "Answer text": "Rome", "start": 14.0}]),
        # A data set of Hugging Face as a frame.
        pd.DataFrame([{"id": "q", "question": "Where?", "context": CONTEXT, "answers": ANSWERS}]),
        [{"question": "Where?", "context": CONTEXT, "answers": {"text": ["Rome"], "answer_start": [14]}}],
        [{"question": "Where?", "context": CONTEXT, "answers": SQUAD_ANSWERS}],
        [{"paragraphs": [{"context": CONTEXT, "qas": [{"id": 1, "question": "Where?", "answers": SQUAD_ANSWERS}]}]}],
        {
            "data": [
                {"paragraphs": [{"context": CONTEXT, "qas": [{"question": "Where?", "answers": SQUAD_ANSWERS}]}]},
            ],
            "version": "1.1",
        },
    ],
)
def test_forms(data):
    (example,) = read_training_examples(number_questions("train", data)).examples
    assert (example.question, example.answer_text) == ("Where?", "Rome")
    assert (example.start_position, example.end_position) == (3, 3)


def test_missing_answers_are_impossible_questions():
    frame = pd.DataFrame([ROW, ROW | {"answer": None}, ROW | {"answer": ""}])
    assert list(read_gold_answers(number_questions("dev", frame)).values()) == [("Rome",), (), ()]


@pytest.mark.parametrize(
    "data",
    [
        [],
        pd.DataFrame([ROW]).head(0),
        "Where?",
        {"question": ["Where?"]},
        [("Where?", CONTEXT)],
        [("Where?", CONTEXT, "Rome"), ("Where?", CONTEXT)],
        [ROW, None],
        pd.DataFrame([ROW]).drop(columns="context"),
        [ROW | {"context": object()}],
        [ROW | {"answer": "Paris"}],
        [ROW | {"answer": "n"}],
        [ROW | {"answer_start": "x"}],
        [ROW | {"answers": [{"start": 1}]}],
    ],
)
def test_other_forms_are_refused(data):
    with raises(InputError, "train"):
        read_training_examples(number_questions("train", data))
