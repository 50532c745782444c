"""Records for questions and contexts, with the same words as in Google's run_squad.py."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# Use the original's white space: U+202F splits words, but U+00A0, U+3000 and other Unicode spaces
# do not.
_WORD = re.compile("[^ \t\r\n\u202f]+")


@dataclass(frozen=True, eq=False)
class Paragraph:
    """A context and its words. Its questions share one object, which is compared by identity.

    Attributes:
        context: the text.
        doc_tokens: words separated by white space.
        token_starts: offset of each word's first character in `context`, in code points.
    """

    context: str
    doc_tokens: tuple[str, ...]
    token_starts: tuple[int, ...]


@dataclass(frozen=True)
class SquadExample:
    """A question about a paragraph.

    Attributes:
        qas_id: the question's id.
        question: the question.
        paragraph: its context.
        answer_text: the answer; None for prediction, "" for an impossible question.
        start_position: index of the answer's first word; None for prediction, -1 for an impossible
            question.
        end_position: index of the answer's last word, with the same special values.
        is_impossible: whether the context has no answer; False for prediction.
    """

    qas_id: str
    question: str
    paragraph: Paragraph
    answer_text: str | None = None
    start_position: int | None = None
    end_position: int | None = None
    is_impossible: bool = False


def split_context(context: str) -> Paragraph:
    """Split a context at spaces, tabs, carriage returns, line feeds and U+202F."""
    words = list(_WORD.finditer(context))
    return Paragraph(context, tuple(word.group() for word in words), tuple(word.start() for word in words))


def describe_questions(examples: Sequence[SquadExample]) -> str:
    """Summarize examples for the log, for example `5173 questions about 1033 contexts`.

    The summary includes the numbers of impossible questions and of contexts without words.
    """
    paragraphs = {id(example.paragraph): example.paragraph for example in examples}
    text = f"{len(examples)} questions about {len(paragraphs)} contexts"
    impossible = sum(example.is_impossible for example in examples)
    empty = sum(not paragraph.doc_tokens for paragraph in paragraphs.values())
    text += f", {impossible} of them impossible" if impossible else ""
    return text + (f"; {empty} contexts hold no word" if empty else "")
