"""Answers as items and columns."""

from bert_cli.api.inputs.texts import QUESTIONS, read_texts_argument
from bert_cli.api.results.answers import Answers, make_answer

RECORD = {
    "id": "1",
    "question": "Who?",
    "answer": "Ann",
    "probability": 0.5,
    "start": 0,
    "end": 3,
    "sentence": "Ann sings.",
    "nbest": [],
}


def test_answers():
    texts = read_texts_argument([("Who?", "Ann sings."), ("Who?", "Rain.")], QUESTIONS)
    nothing = RECORD | {"answer": "", "start": None, "end": None, "sentence": None}
    answers = Answers(texts, [make_answer(RECORD, "Ann sings."), make_answer(nothing, "Rain.")])
    assert answers.best == ["Ann", ""]
    assert answers[0].context == "Ann sings."
    assert answers.columns()["start"] == [0, None]
    assert list(answers.columns()) == ["answer", "probability", "start", "end", "sentence"]
    assert repr(answers) == "Answers for 2 texts\n  Who?  Ann\n  Who?  no answer"
