"""Flag values used to read files with words and tags."""

from collections.abc import Callable
from typing import NamedTuple

from bert_cli.base.log import LOG
from bert_cli.reading.columns.words import WordRules


class TokenFlags(NamedTuple):
    """Flag values for a file with words and tags.

    Attributes:
        word_column, tag_column, with_tags: see WordRules.
        header: whether the first row is a header: auto, yes or no.
        finds_tags: whether tags are used if the file has some, see `decide_tags`.
        skip_unlabeled: whether sentences are skipped if a word has no tag.
        labels: tag names if tags are numbers, in the order of numbers.
        are_types: whether numbers without names are entity types.
        types: a trained model's entity types.
        flag: flag that gives the path, for messages, or "".
        sheet: sheet name or number in a workbook, or None for the only sheet with rows.
        logs: whether to log the detected header and rows that are left out.
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
    finds_tags: bool = False

    def decide_tags(self, has_tags: Callable[["TokenFlags"], bool]) -> "TokenFlags":
        """Return the flags after the file has decided whether tags are read.

        Args:
            has_tags: function that looks for tags, with flags that read none and log nothing.
        """
        if not self.finds_tags:
            return self
        without_tags = self._replace(with_tags=False, finds_tags=False, logs=False)
        return self._replace(with_tags=has_tags(without_tags), finds_tags=False)

    def log(self, message: str, *values: object) -> None:
        """Log a message, unless `logs` is False."""
        if self.logs:
            LOG.info(message, *values)

    @property
    def rules(self) -> WordRules:
        """Return the rules for the columns of words and tags."""
        return WordRules(self.word_column, self.tag_column, self.with_tags)

    @property
    def check_flag(self) -> str:
        """Return advice for a file without sentences, for example "; check --dev_file", or ""."""
        return f"; check --{self.flag}" if self.flag else ""


DEFAULTS = TokenFlags()
