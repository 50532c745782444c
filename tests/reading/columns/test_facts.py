"""Accounts of input files, as the log and run_report.json have them."""

import logging

from bert_cli.reading.columns.facts import DataFacts, log_facts
from bert_cli.reading.rows import LeftOutRows

REVIEWS = DataFacts(
    "reviews.csv", 1200, columns={"text": ["review"], "label": ["stars"]}, not_used=["date", "user", "score"]
)  # fmt: skip


def test_columns_that_are_used_and_not_used():
    assert REVIEWS.describe() == "1,200 rows: text from 'review', label from 'stars'; not used: date, user, score"


def test_columns_without_a_header():
    facts = DataFacts("a.tsv", 1, columns={"text": ["3"], "label": ["1", "2"]}, not_used=["0"], has_names=False)
    assert facts.describe() == "1 row without a header: text from column 3, label from columns 1, 2; not used: column 0"


def test_files_without_columns():
    assert DataFacts("a.txt", 2, form="a list of texts").describe() == "2 rows: a list of texts"
    assert DataFacts("a.json", 3, "questions").describe() == "3 questions"


def test_rows_that_are_left_out():
    facts = REVIEWS.use(10, [LeftOutRows("blank lines", 1, 3), LeftOutRows("rows of other languages", 1234, 5)])
    assert facts.describe().endswith(
        "left out: blank lines (1; line 3), rows of other languages (1,234; the first is line 5)"
    )


def test_odd_names_are_quoted():
    assert DataFacts("a.csv", 1, columns={"text": ["a"]}, not_used=["b, c", ""]).describe().endswith("'b, c', ''")


def test_report_has_all_facts():
    assert REVIEWS.use(9, [LeftOutRows("blank lines", 1, 3)]).to_json() == {
        "file": "reviews.csv",
        "rows": 9,
        "columns": {"text": ["review"], "label": ["stars"]},
        "not_used": ["date", "user", "score"],
        "left_out": [{"reason": "blank lines", "count": 1, "line": 3}],
    }


def test_unexpected_rows_that_are_left_out_are_a_warning(caplog):
    caplog.set_level(logging.INFO)
    for facts in (
        REVIEWS.use(1, [LeftOutRows("blank lines", 1)]),
        REVIEWS.use(1, [LeftOutRows("x", 1, is_requested=True)]),
    ):
        log_facts(facts)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]
