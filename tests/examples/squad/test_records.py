"""Context words, and the log line about examples."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.examples.squad.reading import read_squad_examples
from bert_cli.examples.squad.records import describe_questions, split_context
from bert_cli.examples.squad.source import QuestionSource
from tests.squad_files import question, squad_file


def test_words():
    paragraph = split_context(" a\u00a0b c\u202fd\r\n\te\u3000f ")
    assert paragraph.doc_tokens == ("a\u00a0b", "c", "d", "e\u3000f")
    assert paragraph.token_starts == (1, 5, 7, 11)


@settings(derandomize=True, deadline=None)
@given(st.text(alphabet="ab \t\n\u202f\u00a0\x85é"))
def test_words_have_correct_offsets(context):
    paragraph = split_context(context)
    pieces = context.replace("\u202f", " ").replace("\t", " ").replace("\n", " ").split(" ")
    assert list(paragraph.doc_tokens) == [piece for piece in pieces if piece]
    for word, start in zip(paragraph.doc_tokens, paragraph.token_starts, strict=True):
        assert context[start : start + len(word)] == word


@pytest.mark.parametrize("context", ["", " \n"])
def test_empty_context(tmp_path, context):
    examples = read_squad_examples(QuestionSource(squad_file(tmp_path, question(), context=context))).examples
    assert examples[0].paragraph.doc_tokens == ()
    assert describe_questions(examples) == "1 questions about 1 contexts; 1 contexts hold no word"
