"""Detection of labels that look the same: they differ in case, spaces or invisible characters."""

import unicodedata
from collections.abc import Collection, Mapping

from bert_cli.base.log import LOG

_MAX_GROUPS = 5  # groups in a warning
_VARIATION_SELECTORS = {chr(code) for code in range(0xFE00, 0xFE10)}  # they belong to emoji


def look_alike_key(label: str) -> str:
    """Return a text that is equal for labels that look the same."""
    # NFKC also normalizes full-width letters and no-break spaces.
    text = unicodedata.normalize("NFKC", label)
    visible = [
        character
        for character in text
        if unicodedata.category(character) != "Cf" and character not in _VARIATION_SELECTORS
    ]
    return unicodedata.normalize("NFKC", " ".join("".join(visible).casefold().split()))


def find_look_alikes(labels: Collection[str]) -> list[list[str]]:
    """Return groups of two or more labels that look the same, in label order."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(look_alike_key(label), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def warn_about_look_alikes(path: str, counts: Mapping[str, int]) -> None:
    """Log one warning about all labels that look the same; `counts` has the rows per label."""
    groups = find_look_alikes(counts)
    if not groups:
        return
    descriptions = [", ".join(_describe(group, counts)) for group in groups[:_MAX_GROUPS]]
    rest = len(groups) - _MAX_GROUPS
    LOG.warning(
        "%s: warning: these labels look the same, and are different classes: %s%s; correct them if they are one",
        path, "; ".join(descriptions), f"; and {rest} more groups" if rest > 0 else "",
    )  # fmt: skip


def _describe(group: list[str], counts: Mapping[str, int]) -> list[str]:
    """Return each label with its number of rows, for example `'Good' (9 rows)`."""
    # Use ASCII escapes if labels differ only in composition: repr does not show this.
    are_distinct = len({unicodedata.normalize("NFC", label) for label in group}) == len(group)
    write = repr if are_distinct else ascii
    return [f"{write(label)} ({counts[label]} {'row' if counts[label] == 1 else 'rows'})" for label in group]
