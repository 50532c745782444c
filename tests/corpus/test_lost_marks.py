"""Damage by stripping accents: Hindi, Thai and Vietnamese lose words, European languages do not."""

import pytest

from bert_cli.corpus.lost_marks import count_marked_words, find_lost_marks
from bert_cli.corpus.vocabulary import merge_counts
from bert_cli.text.tokenization import BasicTokenizer


def find(text):
    from bert_cli.corpus.text import Block
    from bert_cli.corpus.vocabulary import count_block

    counts, marked = merge_counts([count_block(BasicTokenizer(), Block("a.txt", 1, text.encode(), True, 0))])
    return find_lost_marks(marked, counts)


def test_marked_words_are_lower_cased_and_keep_their_marks():
    assert count_marked_words("École, école!\nplain\nnaïve-ÉTÉ x\n") == {"école": 2, "naïve": 1, "été": 1}


@pytest.mark.parametrize(
    ("text", "count", "example"),
    [
        ("कहानी बहुत बेकार थी बहुत", 3, "बहुत becomes बहत"),
        ("ผมชอบหนังเรื่องนี้", 1, "ผมชอบหนังเรื่องนี้ becomes ผมชอบหนงเรองน"),
        ("שָׁלוֹם word", 1, "שָׁלוֹם becomes שלום"),
        ("tôi bạn được", 2, "bạn becomes ban"),
        ("がっこう ください", 2, "がっこう becomes かっこう"),
    ],
)
def test_words_that_lose_vowels(text, count, example):
    lost = find(text)
    assert lost.count == count
    assert "vowels" in lost.consequence
    assert example in lost.examples


@pytest.mark.parametrize(
    ("text", "count", "example"),
    [
        ("má mà mả mã mạ ma", 5, "má, mà, mả, mã, mạ become ma"),
        ("mā má mā ma hǎo", 2, "mā, má, ma become ma"),
    ],
)
def test_words_that_become_one(text, count, example):
    lost = find(text)
    assert lost.count == count
    assert "the same as another word" in lost.consequence
    assert example in lost.examples


@pytest.mark.parametrize(
    "text",
    [
        "the résumé and the resume of a naïve café",
        "a résumé à la ou où des dès sur le mur sûr du dû été ete",
        "schon schön wurde würde konnte könnte",
        "el él si sí mas más",
        "мой дом, ёлка и моя; ένα ή δύο",
        "plain words",
        f"{'word ' * 200}बहुत",
    ],
)
def test_usual_accents_are_no_damage(text):
    assert find(text) is None
