"""Columns of pairs: by flags, by usual names, and ambiguous ones."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.reading.columns.pairs import PairRules, find_pair_columns
from bert_cli.reading.rows import Row
from bert_cli.settings.data import Columns, PairColumns
from tests.snapshots import raises


def find(header: str, rules: PairRules = PairRules(), body: str = "a b c d"):  # noqa: B008 (frozen)
    cells = header.split()
    rows = [Row(1, cells), Row(2, body.split()[: len(cells)])]
    columns = find_pair_columns("t.tsv", rows, False, rules)
    return columns.text_a, columns.text_b, columns.negatives, columns.score, columns.names is not None


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("anchor positive", (0, 1, (), None, True)),
        ("positive anchor", (1, 0, (), None, True)),
        ("id sentence1 sentence2 score", (1, 2, (), 3, True)),
        ("Query Positive Negative", (0, 1, (2,), None, True)),
        ("question answer hard_neg_1 negative_2", (0, 1, (2, 3), None, True)),
        ("premise hypothesis label", (0, 1, (), 2, True)),
        ("query passage negatives extra", (0, 1, (2,), None, True)),
    ],
)
def test_usual_names(header, expected):
    assert find(header) == expected


def test_flags_name_columns():
    rules = PairRules(Columns("title", "body"), PairColumns(("other",), "none"))
    assert find("score other body title", rules) == (3, 2, (1,), None, True)
    assert find("score x body title", PairRules(Columns("title", "body"))) == (3, 2, (), 0, True)


def test_numbers_need_no_header():
    assert find("the_dog a_dog", PairRules(Columns("0", "1"))) == (0, 1, (), None, False)
    rules = PairRules(Columns("0", "1"), PairColumns(score_column="2"))
    assert find("the_dog a_dog 0.5", rules) == (0, 1, (), 2, False)
    # Usual names are a header, also if flags have numbers.
    assert find("anchor positive", PairRules(Columns("0", "1")))[-1] is True


def test_a_column_may_be_named_none():
    assert find("anchor positive none", PairRules(others=PairColumns(score_column="none")))[3] == 2


@pytest.mark.parametrize(
    ("header", "rules"),
    [
        ("left right", PairRules()),
        ("anchor positive query document", PairRules()),
        ("anchor positive", PairRules(Columns("anchor"))),
        ("anchor positive", PairRules(Columns("anchor", "other"))),
        ("anchor positive", PairRules(Columns("anchor", "anchor"))),
        ("anchor positive score label", PairRules()),
        ("anchor positive negative score", PairRules()),
        ("anchor positive", PairRules(others=PairColumns(("x",)))),
    ],
)
def test_unclear_columns_are_refused(header, rules):
    with raises(InputError, "t.tsv:"):
        find(header, rules)
