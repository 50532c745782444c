"""Account of an input file: the columns and rows that a run uses, and those that it does not use."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

from bert_cli.base.formats import list_some, quote
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG
from bert_cli.reading.rows import LeftOutRows

# Roles of columns by their names in run_report.json, with the names in the log.
ROLES = {
    "text": "text", "text_b": "second text", "choices": "endings", "label": "label", "id": "id", "answer": "answer",
    "word": "words", "tag": "tags", "sentence": "sentences", "question": "question", "context": "context",
    "kept": "copies", "group": "group", "weight": "weight", "negatives": "negatives", "score": "score",
}  # fmt: skip
_PLAIN_NAME = re.compile(r"[\w #.-]+")
_MAX_NAMES = 20  # columns in the log


@dataclass(frozen=True)
class DataFacts:
    """An input file, its columns and its rows, as a run uses them.

    Attributes:
        file: the file's name in messages.
        num_rows: number of rows that are used.
        unit: plural noun for rows.
        columns: names of the used columns by role, a key of ROLES; numbers from 0 without names. {}
            for a list of texts, and for formats with a fixed form.
        not_used: names or numbers of the other columns.
        left_out: rows that are not used.
        has_names: whether the columns have names.
        form: description of a file without columns, such as "a list of texts", or "".
    """

    file: str
    num_rows: int
    unit: str = "rows"
    columns: Mapping[str, Sequence[str]] = field(default_factory=lambda: MappingProxyType({}))
    not_used: Sequence[str] = ()
    left_out: Sequence[LeftOutRows] = ()
    has_names: bool = True
    form: str = ""

    def use(self, num_rows: int, left_out: Sequence[LeftOutRows] = ()) -> Self:
        """Return the facts for a number of rows, with further rows that are left out."""
        return replace(self, num_rows=num_rows, left_out=(*self.left_out, *left_out))

    def describe(self) -> str:
        """Return the line for the log, without the file's name."""
        unit = self.unit if self.num_rows != 1 else self.unit.removesuffix("s")
        text = f"{self.num_rows:,} {unit}"
        if self.columns and not self.has_names:
            text += " without a header"
        used = [f"{ROLES[role]} from {self._list(names, quote)}" for role, names in self.columns.items() if names]
        text += f": {', '.join(used) or self.form}" if used or self.form else ""
        parts = [f"not used: {self._list(self.not_used, _plain)}"] if self.not_used else []
        if self.left_out:
            parts.append(f"left out: {', '.join(map(str, self.left_out))}")
        return "; ".join([text, *parts])

    def _list(self, names: Sequence[str], show: Any) -> str:
        if self.has_names:
            return list_some([show(name) for name in names], _MAX_NAMES)
        return f"column{'s' if len(names) > 1 else ''} {list_some(names, _MAX_NAMES)}"

    def to_json(self) -> JsonObject:
        """Return the facts for run_report.json."""
        return {
            "file": self.file,
            self.unit: self.num_rows,
            "columns": {role: list(names) for role, names in self.columns.items() if names},
            "not_used": list(self.not_used),
            "left_out": [{"reason": rows.reason, "count": rows.num_rows, "line": rows.line} for rows in self.left_out],
        }


def table_facts(
    path: str,
    names: Sequence[str] | None,
    width: int,
    roles: Mapping[str, Sequence[int]],
    left_out: Sequence[LeftOutRows] = (),
) -> DataFacts:
    """Return the account of a table, with 0 rows.

    Args:
        path: the file.
        names: its column names, None without a header.
        width: number of columns.
        roles: used columns by role.
        left_out: rows that are not used.
    """
    # A task's header may be shorter than its rows, and a name may be empty.
    shown = [name or str(number) for number, name in enumerate(names or ())]
    shown += map(str, range(len(shown), width))
    used = {column for columns in roles.values() for column in columns}
    by_role = {role: tuple(shown[column] for column in roles[role]) for role in ROLES if roles.get(role)}
    not_used = [shown[column] for column in range(width) if column not in used]
    return DataFacts(path, 0, "rows", by_role, not_used, left_out, names is not None)


def log_facts(facts: DataFacts) -> None:
    """Log the account of a file, as a warning if unexpected rows are left out."""
    is_unexpected = any(not rows.is_requested for rows in facts.left_out)
    (LOG.warning if is_unexpected else LOG.info)("%s: %s", facts.file, facts.describe())


def _plain(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quote(name)
