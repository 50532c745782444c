"""Iterative stratification, against its published definition on data that can be followed by hand."""

import random

import pytest

from bert_cli.examples.stratification import hold_out, iterative_stratification


def by_definition(rows, parts, shares):
    """Whether a division can come from Algorithm 1 of Sechidis et al.: replay it with every choice allowed.

    Rows of the rarest label may come in any order, so the replay tries, of the rows that are left, each one.
    """

    def replay(left, needed, needed_of):
        if not left:
            return True
        counts = {}
        for row in left:
            for label in rows[row]:
                counts[label] = counts.get(label, 0) + 1
        if not counts:
            return replay_rest(left, needed)
        fewest = min(counts.values())
        return any(
            replay_label([row for row in left if label in rows[row]], left, needed, needed_of, label)
            for label, count in counts.items()
            if count == fewest
        )

    def replay_rest(left, needed):
        return not left or any(
            needed[parts[row]] == max(needed)
            and replay_rest([each for each in left if each != row], lowered(needed, parts[row]))
            for row in left
        )

    def replay_label(of_label, left, needed, needed_of, label):
        if not of_label:
            return replay(left, needed, needed_of)
        for row in of_label:
            needs = needed_of[label]
            equal = [part for part, need in enumerate(needs) if need == max(needs)]
            most = max(needed[part] for part in equal)
            if parts[row] in [part for part in equal if needed[part] == most]:
                now = {
                    each: lowered(needs, parts[row]) if each in rows[row] else needs
                    for each, needs in needed_of.items()
                }
                rest = [each for each in of_label if each != row]
                others = [each for each in left if each != row]
                if replay_label(rest, others, lowered(needed, parts[row]), now, label):
                    return True
        return False

    def lowered(needs, part):
        return [need - (number == part) for number, need in enumerate(needs)]

    labels = {label for row in rows for label in row}
    needed_of = {label: [share * sum(label in row for row in rows) for share in shares] for label in labels}
    return replay(list(range(len(rows))), [share * len(rows) for share in shares], needed_of)


@pytest.mark.parametrize("seed", range(8))
def test_divisions_follow_the_definition(seed):
    rng = random.Random(seed)
    rows = [rng.sample(range(4), rng.randint(0, 3)) for _ in range(8)]
    for shares in ((0.5, 0.5), (0.75, 0.25), (0.5, 0.25, 0.25)):
        parts = iterative_stratification(rows, shares, seed)
        assert by_definition(rows, parts, shares)


def test_the_replay_refuses_other_divisions():
    assert not by_definition([[0], [0], [1], [1]], [0, 0, 1, 1], (0.5, 0.5))
    assert by_definition([[0], [0], [1], [1]], [0, 1, 1, 0], (0.5, 0.5))


def test_one_label_per_row_is_divided_by_its_shares():
    parts = iterative_stratification([[0]] * 60 + [[1]] * 30 + [[]] * 10, (0.9, 0.1), 1)
    assert [sum(parts[:60]), sum(parts[60:90]), sum(parts[90:])] == [6, 3, 1]


def test_held_out_rows_are_as_many_as_asked_for():
    rows = [[row % 7, 7 + row % 11] for row in range(154)]
    assert [len(hold_out(rows, count, 5)) for count in (1, 10, 50, 100)] == [1, 10, 50, 100]
    assert hold_out(rows, 10, 5) == hold_out(rows, 10, 5) != hold_out(rows, 10, 6)


def test_a_label_with_one_row_stays_in_training():
    rows = [[0], [1], [2], [3], [], []]
    assert hold_out(rows, 3, 1) == [4, 5]
    assert hold_out([[], [], []], 1, 1) != []
