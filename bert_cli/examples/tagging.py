"""Records of words and tags: one sentence or text, and a file of them."""

from dataclasses import dataclass

# Formats of files of words and tags; examples.annotations has the formats of texts with spans.
COLUMNS, TABLE, WORDS = "columns", "a table", "words and tags in JSON lines"


@dataclass(frozen=True)
class TaggingExample:
    """One sentence, or one text.

    Attributes:
        words: the words.
        tags: a tag for each word; None if the file has none.
        line: 1-based line of its first word, of a record the number of its text in
            `TaggingFile.lines`. Word i of a file of columns is in line `line + i`.
        text: the plain text of the words; None for words that came as such.
        starts: offset of each word in `text`, in characters.
        name: id of Label Studio, or document of brat; "" for its line.
        path: its file, if the data is a directory.
        lines: 1-based line of each word in the file, if `line` does not give it.
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
    """A file as read.

    Attributes:
        path: its path.
        lines: all lines without their `\\n`, of brat the text of each document, and of a JSON
            document and of a table the text of each record or row. Writers put the predictions
            next to them.
        examples: its sentences.
        format: COLUMNS, TABLE, WORDS, or one of examples.annotations.
        is_utf16: whether offsets of spans count UTF-16 code units, as JavaScript does.
        header: 1-based number in `lines` of the names of the columns; 0 if there are none.
    """

    path: str
    lines: tuple[str, ...]
    examples: tuple[TaggingExample, ...]
    format: str = COLUMNS
    is_utf16: bool = False
    header: int = 0

    @property
    def has_spans(self) -> bool:
        """True for texts with spans, whose tags are in BIO already."""
        return self.format not in (COLUMNS, TABLE, WORDS)

    @property
    def tags(self) -> list[tuple[str, ...]]:
        """The tags of each example that has some; ValueError for a file that was read without."""
        found = [example.tags for example in self.examples if example.tags is not None]
        if self.examples and not found:
            raise ValueError(f"{self.path} was read without tags")
        return found

    def line_of(self, example: TaggingExample, word: int) -> int:
        """1-based line of a word of an example."""
        if example.lines:
            return example.lines[word]
        return example.line + word if self.format == COLUMNS else example.line

    def number_of(self, example: TaggingExample, word: int) -> int:
        """Number in `lines` of a word of a file of columns or of a table, from 1."""
        return example.line + word if self.format == TABLE else self.line_of(example, word)

    def place(self, example: TaggingExample, word: int) -> str:
        """File and line of a word of an example, for messages."""
        task = f" (task {example.name})" if example.name and not example.path else ""
        return f"{example.path or self.path}:{self.line_of(example, word)}{task}"
