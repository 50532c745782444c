"""Rows of a trained head for the labels of a new run."""

import pytest

from bert_cli.opening.head_labels import RunLabels, TrainedHead, match_head, match_names
from tests.snapshots import check_message

CLASSIFY, TAG = "bert-classify", "bert-tag"


@pytest.mark.parametrize(
    ("trained", "names", "sources"),
    [
        (("pos", "neg", "mid"), ("mid", "neg", "pos"), (2, 1, 0)),
        (("POSITIVE", "Negative"), ("negative", "positive"), (1, 0)),
        (("very  good", "bad"), ("bad", "Very good"), (1, 0)),  # spaces and case
        (("Good", "good"), ("good", "Good"), (1, 0)),  # exact names first
        (("Good", "good"), ("GOOD", "bad"), (None, None)),  # which one is unclear
        (("good", "bad"), ("Good", "GOOD", "bad"), (None, None, 1)),
        (("good", "bad"), ("good", "Good"), (0, None)),  # the row has been used
        (("a", "a", "b"), ("a", "b"), (None, 2)),  # twice in the config
        (("1", "0"), ("0", "1"), (1, 0)),
        (("", "a"), ("a", ""), (1, 0)),
        (("\u200b", "a"), (" ", "a"), (None, 1)),  # invisible names
    ],
)
def test_names_are_matched(trained, names, sources):
    assert match_names(trained, names) == sources


def test_aliases_come_last_and_may_share_a_row():
    aliases = {"B-PER": ("PER", "I-PER"), "I-PER": ("PER",)}
    names = ("O", "B-PER", "I-PER")
    assert match_names(("PER", "O"), names, aliases) == (1, 0, 0)
    assert match_names(("I-PER", "O"), names, aliases) == (1, 0, 0)
    assert match_names(("I-PER", "O", "B-PER", "PER"), names, aliases) == (1, 2, 0)
    assert match_names(("per", "o"), names, aliases) == (1, 0, 0)
    assert match_names(("per", "Per", "o"), names, aliases) == (2, None, None)


def match(names, run_names, num_outputs=None, trained_by=None, command=CLASSIFY, **values):
    """Match a head with label names, or with a number of outputs without names."""
    trained = (
        TrainedHead(names, (), trained_by) if isinstance(names, int) else TrainedHead(len(names), names, trained_by)
    )
    return match_head(trained, RunLabels(command, run_names, **values), num_outputs or len(run_names))


def test_equal_labels_need_no_message():
    assert match(("a", "b"), ("a", "b")) == ((0, 1), "")
    assert match(("a", "b"), ("a", "b"), are_from_flag=True) == ((0, 1), "")


def test_rows_follow_names():
    sources, message = match(("c", "a", "b"), ("a", "b", "c"), trained_by=CLASSIFY)
    assert sources == (1, 2, 0)
    check_message(message)
    # --labels gives the order, and names decide.
    assert match(("a", "b"), ("b", "a"), are_from_flag=True).sources == (1, 0)


def test_more_and_fewer_labels():
    sources, message = match(("neg", "POS", "mixed"), ("neg", "none", "pos"))
    assert sources == (0, None, 1)
    for words in (
        "the same label: POS is pos",
        "random values: none",
        "keeps them): mixed",
    ):
        assert words in message
    assert match(("a", "b"), ("a", "b", "c")).sources == (0, 1, None)
    assert match(("a", "b", "c"), ("a", "c")).sources == (0, 2)


@pytest.mark.parametrize("names", [("x", "y"), ("x", "y", "z")])
def test_other_labels_start_from_random_values(names):
    sources, message = match(("a", "b"), names)
    assert sources == (None,) * len(names)
    assert "labels a, b" in message
    assert f"labels {', '.join(names)}" in message
    assert "random" in message


@pytest.mark.parametrize(
    ("trained", "names", "from_flag"),
    [
        (("a", "b"), ("x", "y"), True),  # --labels renames
        (("LABEL_0", "LABEL_1"), ("x", "y"), False),
        (("0", "1"), ("x", "y"), False),
        (("x", "y"), ("0", "1"), False),
        (2, ("x", "y"), False),  # no names
    ],
)
def test_names_without_meaning_follow_positions(trained, names, from_flag):
    sources, message = match(trained, names, are_from_flag=from_flag)
    assert sources == (0, 1)
    assert "in this order for" in message
    assert "--labels" in message


def test_unnamed_heads():
    # Numbers of outputs are the usual labels for such a head.
    assert match(2, ("0", "1")) == ((0, 1), "")
    assert match(2, ("LABEL_0", "LABEL_1")) == ((0, 1), "")
    # Regression and multiple choice: one output without a name.
    assert match(1, (), 1) == ((0,), "")
    for trained, run, num_outputs in ((1, ("a", "b"), 2), (("a", "b"), (), 1), (3, ("a", "b"), 2), (3, ("0", "1"), 2)):
        sources, message = match(trained, run, num_outputs)
        assert sources == (None,) * num_outputs
        assert "random" in message


def test_heads_of_other_commands_are_not_used():
    sources, message = match(3, ("O", "B-X", "I-X"), command=TAG, trained_by=CLASSIFY)
    assert sources == (None,) * 3
    assert "belongs to bert-classify" in message
    assert match(("O", "a"), ("O", "a"), trained_by=TAG).sources == (None, None)
    # A classifier of unknown origin may be a fork's tagger.
    assert match(3, ("O", "B-X", "I-X"), command=TAG).sources == (0, 1, 2)
    # A tagger's --labels name numbers in the data, not outputs.
    assert match(("a", "b"), ("O", "c"), command=TAG, are_from_flag=True).sources == (None, None)


def test_names_for_another_number_of_outputs_are_not_used():
    sources, message = match_head(TrainedHead(2, ("a", "b", "c")), RunLabels(CLASSIFY, ("b", "a")), 2)
    assert sources == (0, 1)
    assert "2 outputs, not the 3 labels" in message
