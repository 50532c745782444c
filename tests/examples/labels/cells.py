"""Label cells for tests."""

from bert_cli.problem_types.columns import LabelCells


def column(*labels, separator=None) -> LabelCells:
    """Return a column with these cells, from line 2 on."""
    return LabelCells("t.csv", range(2, 2 + len(labels)), [(label,) for label in labels], ("label",), True, separator)
