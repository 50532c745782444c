"""Arguments with a value per text, besides its label: groups and weights."""

from collections.abc import Collection
from typing import Any, NamedTuple

from bert_cli.api.inputs.label_rows import is_missing
from bert_cli.api.inputs.texts import format_weights, list_items
from bert_cli.base.errors import InputError, refuse_if


def read_groups(values: Any, count: int) -> list[str]:
    """Return n groups as texts.

    Args:
        values: n texts or numbers.
        count: n.

    Raises:
        InputError: if there is another number of groups, or one is missing.
        InputTypeError: if the argument is not a list.
    """
    groups = list_items("groups", values, "a list of groups")
    if len(groups) != count:
        raise InputError(
            f"groups: has {len(groups)} entries, and there are {count} texts; one group for each is needed"
        )
    for row, group in enumerate(groups):
        refuse_if(is_missing(group) or not str(group).strip(), f"groups[{row}]: is missing; every text needs a group")
    return list(map(str, groups))


class FurtherColumns(NamedTuple):
    """Further columns for a table in memory, and the flags that name them."""

    columns: dict[str, list[str]]
    options: dict[str, str]


def row_columns(count: int, taken: Collection[str], groups: Any, weights: Any = None) -> FurtherColumns:
    """Return the columns for values per text.

    Args:
        count: number of texts.
        taken: the table's other columns.
        groups: the groups, or None.
        weights: the argument sample_weight, or None.
    """
    values = {} if groups is None else {"group_column": ("groups", read_groups(groups, count))}
    if weights is not None:
        values["weight_column"] = ("sample_weight", format_weights(weights, count))
    further = FurtherColumns({}, {})
    for flag, (name, cells) in values.items():
        while name in taken:
            name += "_"
        further.columns[name] = cells
        further.options[flag] = name
    return further
