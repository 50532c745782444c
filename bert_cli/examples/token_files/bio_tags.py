"""The tags of a file in BIO, and whether a model knows them."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.messages import count_more, list_names, quote
from bert_cli.base.names import OUTSIDE
from bert_cli.examples.tagging import TaggingFile
from bert_cli.examples.token_files.notation import DETECTED, USUAL_FORM, NotationFlags, TagNotation, detect_notation


def with_bio_tags(
    file: TaggingFile, flags: NotationFlags = DETECTED, types: Collection[str] = ()
) -> tuple[TaggingFile, TagNotation]:
    """Return the file with its tags in BIO, and the notation that they were in.

    The log names an unusual notation. Raise InputError with the line of the first tag that is
    none of the notation, and ValueError for a file without tags.

    Args:
        file: a file as read.
        flags: what flags or the training file set; a short dev file may look like another scheme.
        types: entity types that a trained model knows.
    """
    sequences = file.tags
    notation = detect_notation(sequences, flags, types)
    _check_tags(file, notation.problem, "correct it")
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


def check_labels(file: TaggingFile, labels: Sequence[str]) -> None:
    """InputError with the line of the first tag (in BIO) that is not among `labels`."""
    known = set(labels)
    problem = f"is not a label of the training file ({list_names(labels)})"
    _check_tags(
        file,
        lambda tag: "" if tag in known else f"tag {quote(tag)} {problem}",
        "correct it, or take its lines out",
    )


def _check_tags(file: TaggingFile, problem_of: Callable[[str], str], advice: str) -> None:
    counts = Counter(tag for example in file.examples for tag in example.tags or ())
    problems = {tag: problem for tag in counts if (problem := problem_of(tag))}
    if not problems:
        return
    example, word, first = next(
        (example, word, tag)
        for example in file.examples
        for word, tag in enumerate(example.tags or ())
        if tag in problems
    )
    bad = [tag for tag in counts.elements() if tag in problems]
    raise InputError(f"{file.location(example, word)}: {problems[first]}{count_more(bad)}; {advice}")
