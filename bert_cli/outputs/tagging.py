"""Scores of tags, files with predicted tags, and examples for a report."""

from collections.abc import Sequence
from typing import Any

from bert_cli.base.json_files import parse_json, to_json
from bert_cli.base.writing import atomic_write
from bert_cli.examples.tag_schemes import find_entities
from bert_cli.examples.tagging import TABLE, TaggingFile
from bert_cli.examples.token_files.columns import DOCUMENT_START, is_comment, split_columns
from bert_cli.examples.token_files.notation import TagNotation
from bert_cli.metrics.tagging import TaggingScores, tagging_scores
from bert_cli.outputs.eval_examples import ENTITY_COUNTS, EvalExamples, kept_rows

# Name of the prediction column in a file with a header, and CoNLL-U's sign for no value.
PREDICTED_TAG, _NO_TAG = "predicted_tag", "_"

MOST_WORDS = 120  # words per sentence in examples
SENTENCES = (40, 20)  # sentences with mistakes and without, indexed by is_right


def score_tags(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> TaggingScores:
    """Return the scores of BIO tags and their entities, see metrics.tagging.tagging_scores."""
    return tagging_scores(
        gold, predicted, [find_entities(tags) for tags in gold], [find_entities(tags) for tags in predicted]
    )


def write_columns(path: str, file: TaggingFile, tags: Sequence[Sequence[str]], notation: TagNotation) -> None:
    """Write a column file's lines, with each word's predicted tag as an additional column.

    The new column follows a tab if the line has one, else a space. -DOCSTART- lines get the outside
    tag, so that all rows have the same number of columns. Blank lines and line ends stay unchanged.
    A table becomes rows with tabs.

    Args:
        path: file to write.
        file: the file that was predicted.
        tags: BIO tags per example.
        notation: the file's tag notation.
    """
    added: dict[int, str] = {}
    for example, predicted in zip(file.examples, tags, strict=True):
        if len(predicted) != len(example.words):
            raise ValueError(f"line {example.line}: {len(predicted)} tags for {len(example.words)} words")
        tags_of_words = enumerate(notation.encode(predicted))
        added.update((file.number_of(example, word), name) for word, name in tags_of_words)
    if file.header:
        added[file.header] = PREDICTED_TAG
    with atomic_write(path) as out:
        for number, line in enumerate(file.lines, 1):
            row = line.rstrip("\r")
            tag = added.get(number)
            if tag is None and row.strip() and not is_comment(row):
                tag = notation.outside if DOCUMENT_START in split_columns(row) else _NO_TAG
            if tag is not None:
                has_tabs = "\t" in row or file.format == TABLE
                line = f"{row}\t{tag}" if has_tabs else f"{row.rstrip(' ')} {tag}"
                line += file.lines[number - 1][len(row) :]
            out.write(line + ("\n" if number < len(file.lines) else ""))


def write_json_lines(path: str, file: TaggingFile, tags: Sequence[Sequence[str]], notation: TagNotation) -> None:
    """Write a JSON lines file's records with `predicted_tags`.

    Args:
        path: file to write.
        file: the file that was predicted.
        tags: BIO tags per example.
        notation: tag notation to use.
    """
    with atomic_write(path) as out:
        for example, predicted in zip(file.examples, tags, strict=True):
            record = parse_json(file.lines[example.line - 1], file.path, example.line)
            record["predicted_tags"] = list(notation.encode(predicted))
            out.write(to_json(record) + "\n")


def tagging_examples(
    words: Sequence[Sequence[str]],
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
) -> EvalExamples:
    """Return examples for bert-tag: counts of entities, and the words of some sentences.

    Words are only from sentences with at most MOST_WORDS words.

    Args:
        words: words per sentence.
        gold: BIO tags in the data.
        predicted: predicted BIO tags.
    """
    remaining = list(SENTENCES)
    rows: list[dict[str, Any]] = []
    sentences = list(zip(words, gold, predicted, strict=True))
    for number in kept_rows(len(sentences)).tolist():
        sentence, *both_tags = sentences[number]
        tags = [list(sentence_tags) for sentence_tags in both_tags]
        entities = [set(find_entities(sentence_tags)) for sentence_tags in tags]
        counts = (*map(len, entities), len(entities[0] & entities[1]))
        row: dict[str, Any] = {"row": number, **dict(zip(ENTITY_COUNTS, counts, strict=True))}
        is_right = tags[0] == tags[1]
        if remaining[is_right] and 0 < len(sentence) <= MOST_WORDS and any(entities):
            remaining[is_right] -= 1
            row |= {"words": list(sentence), "gold": tags[0], "predicted": tags[1]}
        rows.append(row)
    return EvalExamples({"kind": "tagging", "rows": len(words)}, rows)
