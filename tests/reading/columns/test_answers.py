"""Prodigy's answers in a column."""

from bert_cli.reading.columns.answers import are_answers, is_accepted, is_answer


def test_answers():
    assert are_answers(["accept", "", "ignore"])
    assert not are_answers(["", ""])
    assert not are_answers(["accept", "yes"])
    assert is_answer("reject")
    assert [is_accepted(answer) for answer in (None, "", "accept", "reject", "ignore")] == [
        True,
        True,
        True,
        False,
        False,
    ]
