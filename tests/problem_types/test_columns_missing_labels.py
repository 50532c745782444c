"""Texts that mark a missing label."""

import pytest

from bert_cli.problem_types.columns import may_be_missing, skip_advice


@pytest.mark.parametrize(
    "text", ["", "-", "--", "---", "–", "—", "?", "??", "nan", "N/A", "#n/a", "<NA>", "NULL", "None"]
)
def test_texts_that_may_mark_a_missing_label(text):
    assert may_be_missing(text)


@pytest.mark.parametrize("text", ["0", "-1", "no", "nano", "a-b", "----", "other", "unknown", "+"])
def test_texts_that_are_labels(text):
    assert not may_be_missing(text)


def test_skip_advice():
    assert skip_advice("-") == skip_advice("-1") == "; --skip_unlabeled leaves such rows out"
    assert skip_advice("good") == ""
