"""The files of bert-tag: which file is which split, in which format, and whether it has tags."""

import dataclasses
import os
import re
from collections.abc import Sequence

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.messages import list_names
from bert_cli.examples.annotations import brat
from bert_cli.examples.annotations.reading import BRAT, read_annotations, why_unannotated
from bert_cli.examples.tag_schemes import find_entity_types
from bert_cli.examples.tagging import TaggingFile
from bert_cli.examples.token_files.bio_tags import check_labels, with_bio_tags
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.notation import NotationFlags, TagNotation
from bert_cli.examples.token_files.reading import has_tags, holds_tokens, read_token_file
from bert_cli.settings.tagging import TagSettings

_ENDINGS = (".txt", ".jsonl")
# Taken if a directory has no file with a usual name.
_OTHER_ENDINGS = (".json", ".csv", ".tsv", ".conll", ".conllu", ".parquet", ".xlsx")


def find_file(given: str | None, data_dir: str, split: str) -> str:
    """Return the file of --<split>_file, else the file of `data_dir` with the split's name.

    Raise InputError unless there is exactly one.
    """
    if given:
        if not (files.is_directory(given) and brat.documents(given)):
            files.check_readable(given, f"{split}_file")
        return given
    paths = [os.path.join(data_dir, split + ending) for ending in _ENDINGS]
    others = [os.path.join(data_dir, split + ending) for ending in _OTHER_ENDINGS]
    existing = [path for path in paths if files.exists(path)] or [path for path in others if files.exists(path)]
    if not existing:
        raise InputError(f"{paths[0]}: no such file, nor {split}.jsonl; check --data_dir, or give --{split}_file")
    if len(existing) > 1:
        names = " and ".join(os.path.basename(path) for path in existing)
        raise InputError(f"{data_dir}: holds {names}; name one of them with --{split}_file")
    files.check_readable(existing[0], "data_dir")
    return existing[0]


def token_flags(settings: TagSettings, split: str, labels: Sequence[str]) -> TokenFlags:
    """Return how to read the file of a split. labels: labels of the model, () if there are none."""
    return TokenFlags(
        word_column=settings.task.word_column,
        tag_column=settings.task.tag_column,
        header=settings.data.header,
        skip_unlabeled=settings.missing_labels.skip_unlabeled and split != "test",
        labels=settings.encoding.labels or (),
        are_types=settings.task.tag_scheme == "IO",
        types=frozenset(find_entity_types(labels)),
        flag=f"{split}_file",
        encoding=settings.text_files.encoding,
        sheet=settings.data.sheet,
    )


def read_split(
    split: str,
    path: str,
    settings: TagSettings,
    notation: NotationFlags,
    span_format: str,
    labels: Sequence[str] = (),
) -> tuple[TaggingFile, TagNotation | None, bool]:
    """Return a file with its tags in BIO, their notation, and whether it has any.

    The notation is None for spans, and for a file without tags.

    Args:
        split: train, dev or test.
        path: the file.
        settings: the flags of the run.
        notation: the notation of tags, as far as it is known.
        span_format: format of the predictions for texts without spans.
        labels: labels of the model, () if there are none.
    """
    flags = token_flags(settings, split, labels)
    wanted = settings.task.test_tags if split == "test" else "yes"
    file = None
    if files.is_directory(path) or not holds_tokens(path, flags):
        file = read_annotations(path, flags.encoding, wanted != "no", span_format)
    if file:
        annotated = tuple(example for example in file.examples if example.tags is not None)
        if wanted == "yes" and not annotated:
            problem = f"no text of it is annotated{why_unannotated(file)}"
            raise InputError(f"{path}: {problem}; annotate some, or check --{split}_file")
        left = len(file.examples) - len(annotated)
        if left and split != "test":
            LOG.info("%s: %d of %d texts are not annotated, and are left out", split, left, len(file.examples))
            file = dataclasses.replace(file, examples=annotated)
        return file, None, bool(annotated)
    if wanted == "no" or (wanted == "auto" and not has_tags(path, flags)):
        return read_token_file(path, flags._replace(with_tags=False)), None, False
    return *with_bio_tags(read_token_file(path, flags), notation, flags.types), True


def check_split_labels(file: TaggingFile, labels: tuple[str, ...], split: str) -> None:
    """InputError for a tag that is not among the labels of the model, and for a model with a type
    that the format of the predictions cannot hold.
    """
    try:
        check_labels(file, labels)
    except InputError as error:
        hint = "; --test_tags=no for a file without tags" if split == "test" else ""
        raise InputError(f"{error}{hint}") from None
    wrong = sorted(name for name in find_entity_types(labels) if not name or re.search(r"\s", name))
    if split == "test" and file.format == BRAT and wrong:
        raise InputError(
            f"{file.path}: brat has no type with white space or without a name, the model has {list_names(wrong)}"
        )
