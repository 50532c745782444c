"""Reader of bert-tag's files: it finds each split's file, its format, and whether it has tags."""

import dataclasses
import os
import re
from collections.abc import Sequence

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.examples.annotations.reading import BRAT, explain_missing_annotations, read_annotations
from bert_cli.examples.tag_schemes import find_entity_types
from bert_cli.examples.tagging import TaggingFile
from bert_cli.examples.token_files.bio_tags import check_known_tags, convert_to_bio
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.notation import NotationFlags, TagNotation
from bert_cli.examples.token_files.reading import has_tokens, read_token_file
from bert_cli.reading.folder import find_documents
from bert_cli.reading.formats import is_table
from bert_cli.reading.rows import LeftOutRows
from bert_cli.reading.source import Source
from bert_cli.settings.tagging import TagSettings
from bert_cli.text.tokenization import FullTokenizer

_USUAL_SUFFIXES = (".txt", ".jsonl")
# Suffixes that are used if the directory has no file with a usual suffix.
_OTHER_SUFFIXES = (".json", ".csv", ".tsv", ".conll", ".conllu", ".parquet", ".xlsx")


def find_file(path_flag: str | None, data_dir: str, split: str) -> str:
    """Return the path of a split's file: the flag's value, or a file in `data_dir`.

    Args:
        path_flag: value of --train_file, --dev_file or --test_file, or None.
        data_dir: directory to search for a file with the split's name.
        split: train, dev or test.

    Raises:
        InputError: there is no such file, or there are several.
    """
    if path_flag:
        if not (files.is_directory(path_flag) and find_documents(path_flag)):
            files.check_readable(path_flag, f"{split}_file")
        return path_flag
    paths = [os.path.join(data_dir, split + suffix) for suffix in _USUAL_SUFFIXES]
    other_paths = [os.path.join(data_dir, split + suffix) for suffix in _OTHER_SUFFIXES]
    existing = [path for path in paths if files.exists(path)] or [path for path in other_paths if files.exists(path)]
    if not existing:
        raise InputError(f"{paths[0]}: no such file, nor {split}.jsonl; check --data_dir, or give --{split}_file")
    if len(existing) > 1:
        names = " and ".join(os.path.basename(path) for path in existing)
        raise InputError(f"{data_dir}: holds {names}; name one of them with --{split}_file")
    files.check_readable(existing[0], "data_dir")
    return existing[0]


def token_flags(settings: TagSettings, split: str, labels: Sequence[str]) -> TokenFlags:
    """Return the settings to read a split's file of words and tags.

    Args:
        split: train, dev or test.
        labels: the model's labels, () before training.
    """
    return TokenFlags(
        word_column=settings.task.word_column,
        tag_column=settings.task.tag_column,
        header=settings.data.header,
        skip_unlabeled=settings.missing_labels.skip_unlabeled and split != "test",
        labels=settings.encoding.labels or (),
        are_types=settings.task.tag_scheme == "IO",
        types=frozenset(find_entity_types(labels)),
        flag=f"{split}_file",
        sheet=settings.data.sheet,
    )


def read_tagging_split(
    split: str,
    path: str,
    settings: TagSettings,
    notation: NotationFlags,
    span_format: str,
    labels: Sequence[str] = (),
    tokenizer: FullTokenizer | None = None,
) -> tuple[TaggingFile, TagNotation | None, bool]:
    """Return a file with tags in BIO, their notation in the file, and whether there are tags.

    Spans, and files without tags, have no notation (None).

    Args:
        split: train, dev or test.
        path: path to read.
        notation: notation from flags and earlier files; its unknown fields have the value None.
        span_format: format to use for predictions if the file's texts have no spans.
        labels: the model's labels, () before training.
        tokenizer: the model's tokenizer, which keeps added tokens in one word.
    """
    source = Source(path, settings.text_files.encoding, may_be_folder=True)
    flags = token_flags(settings, split, labels)
    test_tags = settings.task.test_tags if split == "test" else "yes"
    file = None
    if source.is_folder or not has_tokens(source, flags):
        columns = (flags.word_column, flags.tag_column)
        file = read_annotations(source, test_tags != "no", span_format, tokenizer, columns)
    if file:
        annotated = tuple(example for example in file.examples if example.tags is not None)
        if test_tags == "yes" and not annotated:
            problem = f"no text of it is annotated{explain_missing_annotations(file)}"
            raise InputError(f"{path}: {problem}; annotate some, or check --{split}_file")
        num_unannotated = len(file.examples) - len(annotated)
        if num_unannotated and split != "test":
            left_out = LeftOutRows("texts without annotations", num_unannotated, is_requested=True)
            file = dataclasses.replace(file, examples=annotated, account=file.facts.use(0, [left_out]))
        return file, None, bool(annotated)
    try:
        file = read_token_file(source, flags._replace(with_tags=test_tags == "yes", finds_tags=test_tags == "auto"))
        has_tags = test_tags == "yes" or any(example.tags is not None for example in file.examples)
        return (*convert_to_bio(file, notation, flags.types), True) if has_tags else (file, None, False)
    except InputError:
        if split == "test" and not is_table(path) and _are_sentences(source):
            problem = f"has a sentence per line, not a word; give it as --input_file={path}, without --do_predict"
            raise InputError(f"{path}: {problem}") from None
        raise


def _are_sentences(source: Source) -> bool:
    """Return whether a text file's lines are sentences, and not words with columns such as tags."""
    lines = [line.split() for line in source.text.split("\n") if line.strip()]
    tags = sum(re.fullmatch(r"O|[BIESLU]-\S+", words[-1]) is not None for words in lines)
    return "\t" not in source.text and sum(map(len, lines)) > 2 * len(lines) and 10 * tags < len(lines)


def check_split_labels(file: TaggingFile, labels: tuple[str, ...], split: str) -> None:
    """Raise InputError if a file does not fit the model's labels.

    It must not have other tags. If it has brat's format, its predictions cannot have types without
    a name or with white space.

    Args:
        file: the split's sentences.
        split: train, dev or test.
    """
    try:
        check_known_tags(file, labels)
    except InputError as error:
        hint = "; --test_tags=no for a file without tags" if split == "test" else ""
        raise InputError(f"{error}{hint}") from None
    invalid_types = sorted(name for name in find_entity_types(labels) if not name or re.search(r"\s", name))
    if split == "test" and file.format == BRAT and invalid_types:
        raise InputError(
            f"{file.path}: brat has no type with white space or without a name, the model has {list_names(invalid_types)}"
        )
