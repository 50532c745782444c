"""Labels that look the same."""

import pytest

from bert_cli.examples.labels.look_alikes import find_look_alikes, warn_about_look_alikes
from tests.snapshots import check_message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Good", "good"),
        ("GOOD", "Good"),
        ("good", "good\u200b"),
        ("go\u00adod", "good"),
        ("\ufeffgood", "good"),
        ("\u00e9t\u00e9", "e\u0301te\u0301"),
        ("not good", "not  good"),
        ("not good", "not\u00a0good"),
        ("not good", "not\tgood"),
        ("\uff47\uff4f\uff4f\uff44", "good"),
        ("\uff11", "1"),
        ("STRASSE", "stra\u00dfe"),
        ("\u2764\ufe0f", "\u2764"),
    ],
)
def test_labels_that_look_the_same(first, second):
    assert find_look_alikes([first, "other", second]) == [[first, second]]


@pytest.mark.parametrize(
    "labels", [("good", "bad"), ("1", "10"), ("e", "\u00e9"), ("a", "b", "c"), ("not_good", "not good"), ("1", "1.0")]
)
def test_labels_that_look_different(labels):
    assert find_look_alikes(labels) == []


def test_one_warning_lists_all_groups(caplog):
    warn_about_look_alikes("t.csv", {"Good": 9, "bad": 5, "good": 10, "good\u200b": 1, "\u00e9": 4, "e\u0301": 3})
    check_message(caplog)


def test_only_first_groups_are_listed(caplog):
    warn_about_look_alikes("t.csv", {name: 2 for letter in "abcdefg" for name in (letter, letter.upper())})
    check_message(caplog, "'e'")


def test_different_labels_have_no_warning(caplog):
    warn_about_look_alikes("t.csv", {"good": 9, "bad": 5})
    assert caplog.messages == []
