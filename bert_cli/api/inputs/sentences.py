"""Sentences as arguments: lists, records, and tables with a word or a sentence per row."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.api.inputs.frames import Table, as_table, names_and_rows_of_records
from bert_cli.api.inputs.tables import list_or_text
from bert_cli.api.inputs.texts import SINGLE_TEXTS, Texts, list_items, read_texts_argument
from bert_cli.base.errors import InputError, InputTypeError
from bert_cli.base.names import split_names
from bert_cli.examples.tagging import WORDS, TaggingExample, TaggingFile
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.tables import read_token_table
from bert_cli.reading.frames import Frame
from bert_cli.reading.probe import TableFile
from bert_cli.reading.rows import Row

_NEEDED = "(words, tags) with as many of both, or a list of (word, tag), is needed"


def read_sentences(name: str, data: Any, options: Mapping[str, Any]) -> TaggingFile:
    """Return sentences in memory as a TaggingFile, numbered from 0.

    A table of any library, or a list of dicts, has a word or a sentence per row, as a file for
    bert-tag. Other lists have a sentence per item: (words, tags), or a list of (word, tag).

    Args:
        name: the argument's name, for errors.
        data: the argument.
        options: the caller's flags; word_column, tag_column, labels and skip_unlabeled are used.

    Raises:
        InputError: for another form; the message names name[row].
    """
    if table := as_table(name, data):
        return _read_table(name, tuple(map(str, table.names)), table.rows(), options, _feature_names(table))
    items = list_items(name, data, "a list of sentences (words, tags)", is_of_pairs=True)
    if items and all(isinstance(item, Mapping) for item in items):
        return _read_table(name, *names_and_rows_of_records(items), options, {})
    sentences = [(number, item) for number, item in enumerate(items)]
    # A sentence of two words may have both forms, so all sentences decide.
    has_columns = all(_are_columns(item) for _, item in sentences)
    if not has_columns and all(_are_pairs(item) for _, item in sentences):
        sentences = [(number, tuple(zip(*item, strict=True)) or ((), ())) for number, item in sentences]
    examples = [_make_example(name, number, item) for number, item in sentences]
    if not any(example.words for example in examples):
        raise InputError(f"{name}: holds no words; a list of sentences, each (words, tags), is needed")
    return TaggingFile(name, (), tuple(examples), WORDS)


def _are_columns(sentence: Any) -> bool:
    """Return whether a sentence is (words, tags), with as many of both."""
    if not isinstance(sentence, tuple | list) or len(sentence) != 2 or any(isinstance(item, str) for item in sentence):
        return False
    words, tags = (list(column) for column in sentence)
    return len(words) == len(tags)


def _are_pairs(sentence: Any) -> bool:
    """Return whether a sentence is a list of (word, tag)."""
    return isinstance(sentence, tuple | list) and all(
        isinstance(item, tuple | list) and len(item) == 2 and all(isinstance(text, str) for text in item)
        for item in sentence
    )


def _make_example(name: str, number: int, sentence: Any) -> TaggingExample:
    if not _are_columns(sentence):
        raise InputError(f"{name}:{number}: {_NEEDED}, found {sentence!r:.80}")
    words, tags = (tuple(column) for column in sentence)
    for item in (*words, *tags):
        if not isinstance(item, str) or not item:
            raise InputError(f"{name}:{number}: words and tags are texts, found {item!r:.80}")
    return TaggingExample(words, tags, number)


def _read_table(
    name: str,
    names: tuple[str, ...],
    rows: Sequence[Sequence[Any]],
    options: Mapping[str, Any],
    feature_names: Mapping[str, tuple[str, ...]],
) -> TaggingFile:
    cells = [
        Row(number, [list_or_text(name, number, value, "a text, or a list of words or tags,") for value in row])
        for number, row in enumerate(rows)
    ]
    word_column, tag_column = (options.get(flag) for flag in ("word_column", "tag_column"))
    given_labels = options.get("labels") or ()
    labels = split_names(given_labels) if isinstance(given_labels, str) else tuple(map(str, given_labels))
    if not labels:
        named = [feature_names[column] for column in names if column in feature_names]
        labels = feature_names.get(tag_column or "", named[0] if len(named) == 1 else ())
    flags = TokenFlags(word_column, tag_column, labels=labels, skip_unlabeled=bool(options.get("skip_unlabeled")))
    return read_token_table(TableFile(name, Frame(names, cells)), flags)


def _feature_names(table: Table) -> dict[str, tuple[str, ...]]:
    """Return the names of tag numbers by column, which a datasets.Dataset knows."""
    features = getattr(table.source, "features", None) or {}
    names = {column: getattr(getattr(feature, "feature", None), "names", None) for column, feature in features.items()}
    return {str(column): tuple(tags) for column, tags in names.items() if tags}


def read_texts_or_words(values: object) -> tuple[Texts, list[tuple[str, ...]] | None]:
    """Return texts to tag, and their words if these are given as lists of words.

    The text of a list is its words with spaces between them.

    Raises:
        InputTypeError: see `read_texts_argument`; the message names texts[row].
    """
    if as_table("texts", values) is None and not isinstance(values, Texts):
        items = list_items("texts", values, SINGLE_TEXTS.sequence)
        if items and all(isinstance(item, tuple | list) for item in items):
            for number, words in enumerate(items):
                if not all(isinstance(word, str) and word.strip() for word in words):
                    raise InputTypeError(f"texts[{number}]: a list of words is needed, found {words!r:.80}")
            texts = read_texts_argument([" ".join(words) for words in items], SINGLE_TEXTS)
            return texts, [tuple(words) for words in items]
        values = values if hasattr(values, "to_frame") else items
    return read_texts_argument(values, SINGLE_TEXTS), None


def make_words_example(words: tuple[str, ...]) -> TaggingExample:
    """Return an example with these words; its text has spaces between them."""
    ends = itertools.accumulate(len(word) + 1 for word in words)
    return TaggingExample(words, None, 0, " ".join(words), (0, *ends)[: len(words)])
