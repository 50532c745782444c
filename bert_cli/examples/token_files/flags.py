"""Flag values used to read files with words and tags."""

import re
from typing import NamedTuple

from bert_cli.base.log import LOG

_NUMBER = re.compile(r"-?[0-9]+")


class TokenFlags(NamedTuple):
    """Flag values for a file with words and tags.

    Attributes:
        word_column: word column's name in the header or in JSON, or its 0-based number, -1 for the
            last column. None for a column with a usual name, or else the first column.
        tag_column: the same for the tag column. None for a usual name, or else the last column.
        header: whether the first row is a header: auto, yes or no.
        with_tags: whether tags are read.
        skip_unlabeled: whether sentences are skipped if a word has no tag.
        labels: tag names if tags are numbers, in the order of numbers.
        are_types: whether numbers without names are entity types.
        types: a trained model's entity types.
        flag: flag that gives the path, for messages, or "".
        sheet: sheet name or number in a workbook, or None for the only sheet with rows.
        logs: whether to log detected columns and skipped rows; False if the file is read again.
    """

    word_column: str | None = None
    tag_column: str | None = None
    header: str = "auto"
    with_tags: bool = True
    skip_unlabeled: bool = False
    labels: tuple[str, ...] = ()
    are_types: bool = False
    types: frozenset[str] = frozenset()
    flag: str = ""
    sheet: str | None = None
    logs: bool = True

    def log(self, message: str, *values: object) -> None:
        """Log a message, unless `logs` is False."""
        if self.logs:
            LOG.info(message, *values)

    @property
    def word_number(self) -> int:
        """Return the word column's number, used without a header."""
        return int(self.word_column) if self.word_column and _NUMBER.fullmatch(self.word_column) else 0

    @property
    def tag_number(self) -> int:
        """Return the tag column's number, used without a header."""
        return int(self.tag_column) if self.tag_column and _NUMBER.fullmatch(self.tag_column) else -1

    @property
    def word_name(self) -> str:
        """Return the word column's name, or "" if it is a number or not given."""
        return self.word_column if self.word_column and not _NUMBER.fullmatch(self.word_column) else ""

    @property
    def tag_name(self) -> str:
        """Return the tag column's name, or "" if it is a number or not given."""
        return self.tag_column if self.tag_column and not _NUMBER.fullmatch(self.tag_column) else ""

    @property
    def check_flag(self) -> str:
        """Return advice for a file without sentences, for example "; check --dev_file", or ""."""
        return f"; check --{self.flag}" if self.flag else ""


DEFAULTS = TokenFlags()
