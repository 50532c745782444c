"""Reader of fastText's lines, which use words as labels: `__label__a __label__b text`."""

import re
from collections.abc import Iterable, Iterator, Sequence

from bert_cli.base.errors import InputError

PREFIX = "__label__"
_LABEL = re.compile(rf"(?<!\S){PREFIX}(\S*)\s*")


def are_labeled_lines(lines: Sequence[str]) -> bool:
    """Return whether most lines begin with a label, if blank ones are skipped."""
    filled = [line.strip() for line in lines if line.strip()]
    num_labeled = sum(line.startswith(PREFIX) for line in filled)
    return 0 < len(filled) <= 2 * num_labeled


def read_labeled_lines(path: str, lines: Iterable[str]) -> Iterator[tuple[int, tuple[str, ...], str]]:
    """Yield line number, labels and text per line that is not blank.

    As in fastText, each word with the prefix is a label. A line without such words is unlabeled.

    Args:
        path: the file, for messages.

    Raises:
        InputError: a label has no name.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        labels = tuple(_LABEL.findall(line))
        if "" in labels:
            raise InputError(f"{path}:{number}: {PREFIX} has no name; write it without a space, as in {PREFIX}positive")
        yield number, labels, _LABEL.sub("", line).strip()
