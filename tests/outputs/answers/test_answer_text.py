"""An answer's text as written in the context, and its sentence."""

import plain_squad
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.examples.squad.records import split_context
from bert_cli.outputs.answers.answer_text import context_span, final_span, join_pieces, sentence_span
from bert_cli.text.tokenization import FullTokenizer


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["ste", "##ve", "smith"], "steve smith"),
        (["##ve", "smith"], "ve smith"),
        (["[UNK]", "##", "a"], "[UNK] a"),
        ([], ""),
    ],
)
def test_join_pieces(tokens, expected):
    assert join_pieces(tokens) == expected


LOWER, CASED = FullTokenizer({}, True), FullTokenizer({}, False)


def final_text(pred_text, orig_text, tokenizer):
    first, end = final_span(pred_text, orig_text, tokenizer)
    return orig_text[first:end]


@pytest.mark.parametrize(
    ("pred_text", "orig_text", "tokenizer", "expected"),
    [
        ("steve smith", "Steve Smith's", LOWER, "Steve Smith"),
        ("1895 - 1943", "(1895-1943).", LOWER, "1895-1943"),
        ("a", "O a A", LOWER, "a"),
        ("José", "José,", CASED, "José"),
        ("jose", "José,", LOWER, "José"),  # composed: the number of characters is the same without the accent
        ("jose", "Jose\u0301,", LOWER, "Jose\u0301,"),  # the accent was a separate character
        ("[UNK]", "Xyz 1", LOWER, "Xyz 1"),
        ("smith", "Steve", LOWER, "Steve"),
        ("", "Steve", LOWER, "Steve"),
        ("ship", "日本の船 ship", LOWER, "ship"),
        ("日 本", "日本の船 ship", LOWER, "日本"),
        ("a b", "a\u00a0b c", LOWER, "a\u00a0b c"),  # U+00A0 is white space for the tokenizer, but not a space
        ("x", "", LOWER, ""),
    ],
)
def test_final_text(pred_text, orig_text, tokenizer, expected):
    assert final_text(pred_text, orig_text, tokenizer) == expected


TEXT = st.text(alphabet="aB. -é\u0301\u00a0日ß\t\x07İ'", max_size=12)


@settings(derandomize=True, max_examples=500, deadline=None)
@given(st.one_of(TEXT, st.text(max_size=8)), st.integers(0, 12), st.integers(0, 12), st.booleans(), st.data())
def test_final_text_follows_the_plain_rule(orig_text, first, length, lower, data):
    tokenizer = LOWER if lower else CASED
    tok_text = " ".join(tokenizer.tokenize(orig_text))
    pred_text = data.draw(st.one_of(TEXT, st.just(tok_text[first : first + length])))
    assert final_text(pred_text, orig_text, tokenizer) == plain_squad.final_text(pred_text, orig_text, lower)


def test_context_span():
    paragraph = split_context(" The cat\n\n sat.")
    assert context_span(paragraph, 0, 2, (0, 12)) == (1, 15)
    assert context_span(paragraph, 1, 2, (0, 7)) == (5, 14)
    assert context_span(paragraph, 1, 2, (4, 7)) == (11, 14)
    with pytest.raises(ValueError, match="does not lie"):
        context_span(paragraph, 0, 0, (0, 4))


SENTENCES = [
    "Dr. Ann J. Lee was born in the U.S. Army base at 5 p.m. on a Monday.",
    "“Who?” he asked…",
    "It cost 3.50 dollars (a lot!).",
    "Nothing more",
]


@pytest.mark.parametrize("sentence", SENTENCES)
@pytest.mark.parametrize("gap", [" ", "  \n"])
def test_sentence_of_an_answer(sentence, gap):
    context = gap + gap.join(SENTENCES[:3]) + "\n\n" + SENTENCES[3] + gap
    start = context.index(sentence)
    for word in split_context(sentence).token_starts:
        assert sentence_span(context, start + word, start + word + 1) == (start, start + len(sentence))


def test_answer_over_two_sentences_and_without_spaces():
    assert sentence_span("A dog. The cat. A mouse.", 2, 10) == (0, 15)
    assert sentence_span("他来了。她走了。", 5, 6) == (4, 8)
    assert sentence_span("", 0, 0) == (0, 0)
