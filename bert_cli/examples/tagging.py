"""Records for tagged sentences, and for a file with such sentences."""

from dataclasses import dataclass, replace

from bert_cli.reading.columns.facts import DataFacts
from bert_cli.text.offset_units import CODE_POINTS, OffsetUnit

# Formats with words and tags; examples.annotations has the formats with texts and spans.
COLUMNS, TABLE, WORDS = "columns", "a table", "words and tags in JSON lines"


@dataclass(frozen=True)
class TaggingExample:
    """One sentence or text.

    Attributes:
        words: the words.
        tags: one tag per word, or None if the file has no tags.
        line: 1-based line with the first word; word i of a column file is in line `line + i`. For a
            JSON record, 1-based number of its text in `TaggingFile.lines`.
        text: plain text that contains the words, or None if the file has separate words.
        starts: offset per word in `text`, in characters.
        name: Label Studio id or brat document name, "" for other formats.
        path: file with the text if the data is a directory, else "".
        lines: 1-based line of each word if `line` does not determine it, else ().
    """

    words: tuple[str, ...]
    tags: tuple[str, ...] | None
    line: int
    text: str | None = None
    starts: tuple[int, ...] = ()
    name: str = ""
    path: str = ""
    lines: tuple[int, ...] = ()


@dataclass(frozen=True)
class TaggingFile:
    """Contents of a data file or directory.

    Attributes:
        path: file or directory.
        lines: all lines without `\\n`; for brat, the documents' texts; for JSON documents and
            tables, one text per record or row. Writers copy them next to the predictions.
        examples: the sentences or texts.
        format: COLUMNS, TABLE, WORDS, or a format from examples.annotations.
        unit: offset unit of spans.
        header: 1-based header number in `lines`, or 0 without a header.
        account: columns or members that are used, those that are not, and rows that are left out;
            None for sentences in memory.
    """

    path: str
    lines: tuple[str, ...]
    examples: tuple[TaggingExample, ...]
    format: str = COLUMNS
    unit: OffsetUnit = CODE_POINTS
    header: int = 0
    account: DataFacts | None = None

    @property
    def facts(self) -> DataFacts:
        """Return the account of the file with its number of sentences or texts."""
        unit = "texts" if self.has_spans else "sentences"
        account = self.account or DataFacts(self.path, 0)
        return replace(account, num_rows=len(self.examples), unit=unit)

    @property
    def has_spans(self) -> bool:
        """Return whether the format has texts with spans; readers convert spans to BIO tags."""
        return self.format not in (COLUMNS, TABLE, WORDS)

    @property
    def tags(self) -> list[tuple[str, ...]]:
        """Return the tags for each tagged example; raise ValueError if the tags were not read."""
        tags = [example.tags for example in self.examples if example.tags is not None]
        if self.examples and not tags:
            raise ValueError(f"{self.path} was read without tags")
        return tags

    def line_of(self, example: TaggingExample, word: int) -> int:
        """Return the 1-based line that contains an example's word."""
        if example.lines:
            return example.lines[word]
        return example.line + word if self.format == COLUMNS else example.line

    def number_of(self, example: TaggingExample, word: int) -> int:
        """Return the 1-based number of a word's entry in `lines`, for column files and tables."""
        return example.line + word if self.format == TABLE else self.line_of(example, word)

    def location(self, example: TaggingExample, word: int) -> str:
        """Return the file and line of an example's word, for messages."""
        task = f" (task {example.name})" if example.name and not example.path else ""
        return f"{example.path or self.path}:{self.line_of(example, word)}{task}"
