"""Usual column names in different spellings."""

import pytest

from bert_cli.reading.column_names import has_usual_names, normalize_name


@pytest.mark.parametrize("name", ["Comment Text", "comment-text", " COMMENT_TEXT ", "comment.text"])
def test_names_are_compared_without_case_and_signs(name):
    assert normalize_name(name) == "comment_text"


def test_two_usual_names_make_a_header():
    assert has_usual_names(("id", "Text"))
    assert not has_usual_names(("text", "remark"))
    assert not has_usual_names(("text", "label", "1"))
    assert not has_usual_names(("text", "label", "text"))
