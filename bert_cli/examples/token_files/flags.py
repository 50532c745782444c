"""Values of the flags that decide how a file of words and tags is read."""

import re
from typing import NamedTuple

from bert_cli.base.log import LOG
from bert_cli.base.recoding import UTF_8

_NUMBER = re.compile(r"-?[0-9]+")


class TokenFlags(NamedTuple):
    """How to read a file of words and tags.

    Attributes:
        word_column: name of the column of words in a header or in JSON, or its number from 0, -1
            for the last; None: by a usual name, else the first.
        tag_column: the same for the tags; None: by a usual name, else the last.
        header: auto, yes or no.
        with_tags: whether the tags are read.
        skip_unlabeled: whether sentences with a word without a tag are left out.
        labels: names of tags that are numbers, in the order of the numbers.
        are_types: whether numbers without names are types of entities.
        types: entity types that a trained model knows.
        flag: the flag that names the file, for messages; "" if there is none.
        encoding: encoding of the text.
        sheet: sheet of a workbook, by name or number; None for the only one with rows.
        logs: whether to log what is chosen and skipped; False if the file is read again.
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
    encoding: str = UTF_8
    sheet: str | None = None
    logs: bool = True

    def log(self, message: str, *values: object) -> None:
        """Log a choice that was made for the user."""
        if self.logs:
            LOG.info(message, *values)

    @property
    def word_number(self) -> int:
        """Number of the column of words, as far as no header names it."""
        return int(self.word_column) if self.word_column and _NUMBER.fullmatch(self.word_column) else 0

    @property
    def tag_number(self) -> int:
        """Number of the column of tags, as far as no header names it."""
        return int(self.tag_column) if self.tag_column and _NUMBER.fullmatch(self.tag_column) else -1

    @property
    def word_name(self) -> str:
        """Name of the column of words; "" if it is a number or not set."""
        return self.word_column if self.word_column and not _NUMBER.fullmatch(self.word_column) else ""

    @property
    def tag_name(self) -> str:
        """Name of the column of tags; "" if it is a number or not set."""
        return self.tag_column if self.tag_column and not _NUMBER.fullmatch(self.tag_column) else ""

    @property
    def check_flag(self) -> str:
        """Advice for a file without sentences, such as "; check --dev_file"."""
        return f"; check --{self.flag}" if self.flag else ""


DEFAULTS = TokenFlags()
