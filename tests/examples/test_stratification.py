"""Iterative stratification, compared with its published definition on small data."""

import random

import pytest

from bert_cli.examples.stratification import hold_out, iterative_stratification


def matches_definition(rows, subsets, shares):
    """Return whether Algorithm 1 of Sechidis et al. can assign `subsets`, by trying every random choice.

    The algorithm may assign the rows with the rarest label in any order, so each remaining row is
    tried.
    """

    def replay(remaining, needed, label_needed):
        if not remaining:
            return True
        counts = {}
        for row in remaining:
            for label in rows[row]:
                counts[label] = counts.get(label, 0) + 1
        if not counts:
            return replay_rest(remaining, needed)
        fewest = min(counts.values())
        return any(
            replay_label([row for row in remaining if label in rows[row]], remaining, needed, label_needed, label)
            for label, count in counts.items()
            if count == fewest
        )

    def replay_rest(remaining, needed):
        return not remaining or any(
            needed[subsets[row]] == max(needed)
            and replay_rest([other_row for other_row in remaining if other_row != row], lowered(needed, subsets[row]))
            for row in remaining
        )

    def replay_label(label_rows, remaining, needed, label_needed, label):
        if not label_rows:
            return replay(remaining, needed, label_needed)
        for row in label_rows:
            needs = label_needed[label]
            tied = [subset for subset, need in enumerate(needs) if need == max(needs)]
            most = max(needed[subset] for subset in tied)
            if subsets[row] in [subset for subset in tied if needed[subset] == most]:
                now = {
                    other_label: lowered(needs, subsets[row]) if other_label in rows[row] else needs
                    for other_label, needs in label_needed.items()
                }
                other_label_rows = [other_row for other_row in label_rows if other_row != row]
                other_rows = [other_row for other_row in remaining if other_row != row]
                if replay_label(other_label_rows, other_rows, lowered(needed, subsets[row]), now, label):
                    return True
        return False

    def lowered(needs, subset):
        return [need - (number == subset) for number, need in enumerate(needs)]

    labels = {label for row in rows for label in row}
    label_needed = {label: [share * sum(label in row for row in rows) for share in shares] for label in labels}
    return replay(list(range(len(rows))), [share * len(rows) for share in shares], label_needed)


@pytest.mark.parametrize("seed", range(8))
def test_subsets_follow_the_definition(seed):
    rng = random.Random(seed)
    rows = [rng.sample(range(4), rng.randint(0, 3)) for _ in range(8)]
    for shares in ((0.5, 0.5), (0.75, 0.25), (0.5, 0.25, 0.25)):
        subsets = iterative_stratification(rows, shares, seed)
        assert matches_definition(rows, subsets, shares)


def test_the_replay_refuses_other_subsets():
    assert not matches_definition([[0], [0], [1], [1]], [0, 0, 1, 1], (0.5, 0.5))
    assert matches_definition([[0], [0], [1], [1]], [0, 1, 1, 0], (0.5, 0.5))


def test_single_labels_are_divided_by_shares():
    subsets = iterative_stratification([[0]] * 60 + [[1]] * 30 + [[]] * 10, (0.9, 0.1), 1)
    assert [sum(subsets[:60]), sum(subsets[60:90]), sum(subsets[90:])] == [6, 3, 1]


def test_number_of_held_out_rows_is_exact():
    rows = [[row % 7, 7 + row % 11] for row in range(154)]
    assert [len(hold_out(rows, count, 5)) for count in (1, 10, 50, 100)] == [1, 10, 50, 100]
    assert hold_out(rows, 10, 5) == hold_out(rows, 10, 5) != hold_out(rows, 10, 6)


def test_label_with_one_row_stays_in_training():
    rows = [[0], [1], [2], [3], [], []]
    assert hold_out(rows, 3, 1) == [4, 5]
    assert hold_out([[], [], []], 1, 1) != []
