"""Questions about a context, and the words of a context as in Google's run_squad.py."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# The original's white space: U+202F splits, other spaces of Unicode such as U+00A0 and U+3000 are
# parts of words.
_WORD = re.compile("[^ \t\r\n\u202f]+")


@dataclass(frozen=True, eq=False)
class Paragraph:
    """A context and its words; one object for all its questions, told from others by identity.

    context       the text
    doc_tokens    its words, which white space separates
    token_starts  index in `context` (in characters, which are code points) of each word's first character
    """

    context: str
    doc_tokens: tuple[str, ...]
    token_starts: tuple[int, ...]


@dataclass(frozen=True)
class SquadExample:
    """A question about a paragraph.

    answer_text     the answer as written; None in prediction, "" for an impossible question
    start_position  index of the answer's first word; None in prediction, -1 for an impossible question
    end_position    index of its last word
    is_impossible   whether the context has no answer; False in prediction
    """

    qas_id: str
    question: str
    paragraph: Paragraph
    answer_text: str | None = None
    start_position: int | None = None
    end_position: int | None = None
    is_impossible: bool = False


def split_context(context: str) -> Paragraph:
    """The words of a context: cut at space, tab, carriage return, line feed and U+202F only."""
    words = list(_WORD.finditer(context))
    return Paragraph(context, tuple(word.group() for word in words), tuple(word.start() for word in words))


def describe_examples(examples: Sequence[SquadExample]) -> str:
    """For the log: `5173 questions about 1033 contexts`, and how many are impossible, and contexts
    without a word.
    """
    paragraphs = {id(example.paragraph): example.paragraph for example in examples}
    text = f"{len(examples)} questions about {len(paragraphs)} contexts"
    impossible = sum(example.is_impossible for example in examples)
    empty = sum(not paragraph.doc_tokens for paragraph in paragraphs.values())
    text += f", {impossible} of them impossible" if impossible else ""
    return text + (f"; {empty} contexts hold no word" if empty else "")
