"""Labels that look the same: they differ in case, spaces, or characters that nobody sees."""

import unicodedata
from collections.abc import Collection, Mapping

from bert_cli.base.log import LOG

_MOST_GROUPS = 5  # that a warning lists
_VARIATION_SELECTORS = {chr(code) for code in range(0xFE00, 0xFE10)}  # of emoji


def _key(label: str) -> str:
    """Return the same text for all labels that look like this one."""
    # Compatibility composition also makes full-width letters and no-break spaces usual ones.
    text = unicodedata.normalize("NFKC", label)
    visible = [
        character
        for character in text
        if unicodedata.category(character) != "Cf" and character not in _VARIATION_SELECTORS
    ]
    return unicodedata.normalize("NFKC", " ".join("".join(visible).casefold().split()))


def find_look_alikes(labels: Collection[str]) -> list[list[str]]:
    """Return the groups of two or more labels that look the same, in the order of the labels."""
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(_key(label), []).append(label)
    return [group for group in groups.values() if len(group) > 1]


def warn_of_look_alikes(path: str, counts: Mapping[str, int]) -> None:
    """Log one warning that lists the labels that look the same.

    Args:
        path: file, for the message.
        counts: rows per label.
    """
    groups = find_look_alikes(counts)
    if not groups:
        return
    shown = [", ".join(_shown(group, counts)) for group in groups[:_MOST_GROUPS]]
    rest = len(groups) - _MOST_GROUPS
    LOG.warning(
        "%s: warning: these labels look the same, and are different classes: %s%s; correct them if they are one",
        path, "; ".join(shown), f"; and {rest} more groups" if rest > 0 else "",
    )  # fmt: skip


def _shown(group: list[str], counts: Mapping[str, int]) -> list[str]:
    """Return each label with its rows: `'Good' (9 rows)`."""
    # In repr, composed and decomposed accents look the same.
    are_distinct = len({unicodedata.normalize("NFC", label) for label in group}) == len(group)
    write = repr if are_distinct else ascii
    return [f"{write(label)} ({counts[label]} row{'s' * (counts[label] != 1)})" for label in group]
