"""Lines that a dry run logs, with rows and times checked by hand."""

import numpy as np
import pytest

from bert_cli.features.ragged import RaggedFeatures
from bert_cli.outputs.dry_run import (
    ProbeResult,
    SplitStatistics,
    data_digest,
    describe_row,
    forecast_lines,
    leak_lines,
    length_line,
    make_forecast,
    repeated_lines,
    unknown_line,
)
from tests.snapshots import check_message


def survey(*rows):
    return SplitStatistics([text for text, _ in rows], [label for _, label in rows], np.ones(len(rows), int))


TRAIN = survey(("a", "x"), ("b", "y"), ("a", "x"), ("c", "x"), ("b", "x"), ("b", "y"))


def test_repeated_rows():
    assert repeated_lines(TRAIN) == [
        "duplicates: 3 rows have the text of an earlier one, such as row 3 and row 1: 'a'",
        "conflicting labels: 1 texts have different labels, such as rows 2 (y) and 5 (x): 'b'",
    ]
    assert repeated_lines(survey(("a", "x"), ("b", "x"))) == []


def test_leaks():
    lines = leak_lines({"train": TRAIN, "dev": survey(("d", "x"), ("c", "y"), ("a", "x")), "test": survey(("c", None))})
    check_message(lines)


def test_lengths_and_unknown_words():
    assert length_line(np.arange(1, 101), "row", 90) == (
        "tokens in a row: least 1, 5% 6, 25% 26, 50% 51, 75% 76, 95% 96, 99% 100, most 100, mean 50.5; 10 of 100 have more "
        "than 90"
    )
    sequences = RaggedFeatures(np.array([2, 1, 5, 3, 2, 1, 3]), np.zeros(7, np.int8), np.array([0, 4, 7]))
    assert unknown_line(sequences, 1, (2, 3)) == "[UNK]: 2 of 3 tokens (66.67%)"


def test_texts_are_shown_on_one_line():
    assert describe_row(("a\nb", None)) == "'a b'"
    assert describe_row(("a", "b")) == "'a | b'"
    assert describe_row("x" * 100) == "'" + "x" * 59 + "…'"


def test_forecast():
    """A step has 200 tokens and takes 20 ms; evaluating a token takes a third of 0.1 ms."""
    trial = ProbeResult(5.0, [0.01, 0.02], [100, 200], 200.0, 1.0, 600_000_000, 1_500_000_000, "of the process")
    forecast = make_forecast(trial, 1000, 2.0, 2, 30_000, reading=3.0, starting=7.0)
    assert forecast == pytest.approx(
        {"reading": 3.0, "starting": 7.0, "training": 20.0, "saving": 2 * (1.0 + 2.0), "evaluating and predicting": 1.0}
    )
    assert sum(forecast.values()) == pytest.approx(37.0)
    # A frozen encoder's outputs are computed only once, in the first epoch's steps.
    frozen = make_forecast(trial._replace(passes_once=True), 1000, 2.0, 2, 30_000, 3.0, 7.0)
    assert frozen["training"] == pytest.approx(10.0)
    assert forecast_lines(forecast, trial, 1000, 8) == [
        "steps: 1000, of 8 rows and 200 tokens on average; 20 ms each (2 tried)",
        "time: about 0:37 (reading 0:03, starting 0:07, training 0:20, saving 0:06, evaluating and predicting 0:01)",
        "memory: about 1.5 GB (of the process); a checkpoint has 600.0 MB",
    ]


def test_the_digest_of_data_depends_on_texts_labels_and_order():
    def digest(*rows):
        texts, labels = zip(*rows, strict=True)
        return data_digest([SplitStatistics(texts, labels, np.zeros(len(rows), np.int32))])

    first, second = ("a", "1"), ("b", "0")
    assert digest(first, second) == digest(first, second)
    assert (
        len({digest(first, second), digest(second, first), digest(first, ("b", "1")), digest(("ab", "1"), second)}) == 4
    )
    assert data_digest([]) == ""
