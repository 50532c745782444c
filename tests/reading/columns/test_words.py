"""Columns of words, tags and sentence numbers, by flags and by usual names."""

import pytest

from bert_cli.reading.columns.words import WordColumns, WordRules, find_word_columns
from tests.input_errors import error_of
from tests.snapshots import check_message


@pytest.mark.parametrize(
    ("names", "rules", "expected"),
    [
        (None, WordRules(), WordColumns(0, -1)),
        (None, WordRules("1", "3"), WordColumns(1, 3)),
        ("Sentence #,Word,POS,Tag", WordRules(), WordColumns(1, 3, 0)),
        ("tag,token", WordRules(), WordColumns(1, 0)),
        ("Mot,Étiquette", WordRules(), WordColumns(0, 1)),
        ("id,form,lemma,upos,ner_tag", WordRules(), WordColumns(1, 4)),
        ("Word,POS", WordRules(tag_column="POS"), WordColumns(0, 1)),
        ("Word,POS", WordRules(tag_column="-1"), WordColumns(0, -1)),
        ("1,0,Tag", WordRules("0", "1"), WordColumns(1, 0)),  # names take precedence over numbers
        ("sent_id,token,label", WordRules(with_tags=False), WordColumns(1, None, 0)),
    ],
)
def test_columns(names, rules, expected):
    assert find_word_columns("a.txt:1", names and names.split(","), 4, rules) == expected


@pytest.mark.parametrize(
    "names",
    [
        "Sentence #,Word,POS",
        "Word,POS",
        "word,ner_tag,label",
        "a b,c,tag"
    ],
)  # fmt: skip
def test_ambiguous_columns(names):
    check_message(error_of(find_word_columns, "a.txt:1", names.split(","), 4, WordRules()), "a.txt:1: ")
