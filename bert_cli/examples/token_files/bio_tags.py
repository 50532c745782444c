"""Converter from a file's tags to BIO, and a check of the tags against a model's labels."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from bert_cli.base.errors import InputError
from bert_cli.base.formats import count_more, list_names, quote
from bert_cli.base.log import LOG
from bert_cli.base.names import OUTSIDE, find_label_problem
from bert_cli.examples.tagging import TaggingFile
from bert_cli.examples.token_files.notation import DETECTED, USUAL_FORM, NotationFlags, TagNotation, detect_notation

# The beginning of a JSON value, which may have its quotes doubled as in CSV.
_JSON = re.compile(r"""\s*"?(\[\s*\]|\{\s*\}|[\[{]\s*["'\[{]|\[\s*-?\d+\s*,)""")
_JSON_ADVICE = (
    "a tag column has a tag such as B-PER for each word; export spans as JSON, or give the column of the tags with "
    "--tag_column"
)


def convert_to_bio(
    file: TaggingFile, flags: NotationFlags = DETECTED, types: Collection[str] = ()
) -> tuple[TaggingFile, TagNotation]:
    """Return a copy of the file with BIO tags, and the notation of its original tags.

    An unusual notation is logged.

    Args:
        file: a file with tags.
        flags: notation from flags or the training file; a short dev file may look different.
        types: a trained model's entity types.

    Raises:
        InputError: a tag is not valid in the notation.
        ValueError: the file was read without tags.
    """
    sequences = file.tags
    _check_tags(file, _describe_json, _JSON_ADVICE)
    notation = detect_notation(sequences, flags, types)
    _check_tags(file, _describe_broken_tag, "the tags are labels of the model, with one per line in labels.txt")
    _check_tags(file, notation.describe_problem, "correct it")
    if flags.outside is None and notation.outside != OUTSIDE:
        words = [tag for tags in sequences for tag in tags]
        LOG.info(
            "%s: took the tag %s of %d of %d words for the outside tag, as no word has the tag %s; "
            "--outside_tag=%s makes it a type of entities",
            file.path, quote(notation.outside), words.count(notation.outside), len(words), OUTSIDE, OUTSIDE,
        )  # fmt: skip
    if flags.form is None and notation.form != USUAL_FORM:
        LOG.info(
            "%s: read the tags as %s, with %s for the first word of a PER; --tag_scheme=IO takes them for types",
            file.path, notation.scheme, notation.form,
        )  # fmt: skip
    examples = [
        replace(example, tags=notation.decode(tags)) for example, tags in zip(file.examples, sequences, strict=True)
    ]
    return replace(file, examples=tuple(examples)), notation


def _describe_broken_tag(tag: str) -> str:
    """Return a message if labels.txt cannot hold a tag, "" otherwise."""
    problem = find_label_problem(tag)
    return f"tag {quote(tag)} {problem}" if problem else ""


def check_known_tags(file: TaggingFile, labels: Sequence[str]) -> None:
    """Raise InputError with the line of the first BIO tag that is not among `labels`."""
    label_set = set(labels)
    problem = f"is not a label of the training file ({list_names(labels)})"
    _check_tags(
        file,
        lambda tag: "" if tag in label_set else f"tag {quote(tag)} {problem}",
        "correct it, or take its lines out",
    )


def _describe_json(tag: str) -> str:
    """Return a description of a tag that is JSON, or ""."""
    return f"the tag {quote(tag)} is JSON, not a tag" if _JSON.match(tag) else ""


def _check_tags(file: TaggingFile, describe: Callable[[str], str], advice: str) -> None:
    counts = Counter(tag for example in file.examples for tag in example.tags or ())
    problems = {tag: problem for tag in counts if (problem := describe(tag))}
    if not problems:
        return
    example, word, first = next(
        (example, word, tag)
        for example in file.examples
        for word, tag in enumerate(example.tags or ())
        if tag in problems
    )
    invalid = [tag for tag in counts.elements() if tag in problems]
    raise InputError(f"{file.location(example, word)}: {problems[first]}{count_more(invalid)}; {advice}")
