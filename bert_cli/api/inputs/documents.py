"""Pre-training texts as arguments: documents in lists and tables."""

from typing import Any

from bert_cli.api.inputs.frames import as_table
from bert_cli.api.inputs.texts import SINGLE_TEXTS, list_items, read_texts_argument
from bert_cli.base.errors import InputError, InputTypeError

_NEEDED = "a text with a sentence per line, or a list of sentences, is needed"


def read_documents(name: str, data: Any) -> list[str]:
    """Return documents with one sentence per line.

    Args:
        name: the argument's name, for errors.
        data: texts, or lists of sentences, in any sequence; or a table with a column of texts.

    Raises:
        InputError: for another form, or if there is no document; the message names name[row].
    """
    if as_table(name, data) is not None:
        return read_texts_argument(data, SINGLE_TEXTS, name=name).singles
    documents = []
    for number, item in enumerate(list_items(name, data, "a list of documents")):
        sentences = [item] if isinstance(item, str) else item
        if not isinstance(sentences, list | tuple) or not all(isinstance(sentence, str) for sentence in sentences):
            raise InputTypeError(f"{name}[{number}]: {_NEEDED}, found {item!r:.80}")
        # A line is a sentence, so a sentence is one line, and an empty line would end the document.
        lines = [" ".join(sentence.split("\n")) for sentence in sentences if sentence.strip()]
        documents.append(item if isinstance(item, str) else "\n".join(lines))
    if not documents:
        raise InputError(f"{name}: is empty; {_NEEDED}")
    return documents
