"""Files of a cross-validation: a prediction for every training row by a model that has not seen it, and doubtful labels."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.examples.tag_schemes import from_bio
from bert_cli.examples.tagging import TaggingFile
from bert_cli.outputs.classification import Column, Texts, text_columns, write_table
from bert_cli.outputs.tagging import TagPrediction


def disputed(label_ids: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The rows whose most probable label is another than theirs, those with the least probability of theirs first.

    label_ids int [n], probabilities float [n, labels] -> int64 [disputed]; rows of equal probability in their order.
    """
    rows = np.flatnonzero(probabilities.argmax(axis=1) != label_ids)
    return rows[np.argsort(probabilities[rows, label_ids[rows]], kind="stable")]


def disputed_pairs(has: np.ndarray, probabilities: np.ndarray, thresholds: np.ndarray) -> list[tuple[int, int]]:
    """(row, label) of each label that a row is said to have and is not predicted, or the other way, of labels that do not
    exclude each other; those whose statement has the least probability first.

    has bool [n, labels], probabilities float [n, labels], thresholds float [labels].
    """
    rows, columns = np.nonzero(has != (probabilities >= thresholds))
    stated = np.where(has, probabilities, 1.0 - probabilities)[rows, columns]
    order = np.argsort(stated, kind="stable")
    return list(zip(rows[order].tolist(), columns[order].tolist(), strict=True))


def _taken(texts: Texts, rows: Sequence[int]) -> dict[str, Column]:
    return text_columns([texts[row] for row in rows])


def write_folds(
    path: str, ids: Sequence[str], folds: np.ndarray, given: Sequence[str], found: dict[str, Column], texts: Texts
) -> None:
    """Write out_of_fold.tsv: id, fold (from 1), given (the label of the data), what was `found` of each row, text."""
    numbers = [str(fold + 1) for fold in folds.tolist()]
    write_table(path, {"id": ids, "fold": numbers, "given": given, **found, **text_columns(texts)}, "tsv")


def write_suspects_of_labels(
    path: str, ids: Sequence[str], label_ids: np.ndarray, probabilities: np.ndarray, names: Sequence[str], texts: Texts
) -> int:
    """Write suspects.tsv for labels that exclude each other; returns the number of rows. See `disputed`.

    Columns: id, given (the label of the data), predicted, probability (of the given label), text.
    """
    rows = disputed(label_ids, probabilities).tolist()
    best = probabilities.argmax(axis=1)
    columns: dict[str, Column] = {
        "id": [ids[row] for row in rows],
        "given": [names[label_ids[row]] for row in rows],
        "predicted": [names[best[row]] for row in rows],
        "probability": probabilities[rows, label_ids[rows]].astype(np.float32),
    }
    write_table(path, columns | _taken(texts, rows), "tsv")
    return len(rows)


def write_suspects_of_pairs(
    path: str,
    ids: Sequence[str],
    has: np.ndarray,
    probabilities: np.ndarray,
    thresholds: np.ndarray,
    names: Sequence[str],
    texts: Texts,
) -> int:
    """The same for labels that do not exclude each other, a line for each label of a row. See `disputed_pairs`.

    Columns: id, label, given and predicted (yes or no), probability (of what is given), text.
    """
    pairs = disputed_pairs(has, probabilities, thresholds)
    rows, columns_of = [row for row, _ in pairs], [column for _, column in pairs]
    words = {True: "yes", False: "no"}
    stated = np.where(has, probabilities, 1.0 - probabilities)[rows, columns_of]
    columns: dict[str, Column] = {
        "id": [ids[row] for row in rows],
        "label": [names[column] for column in columns_of],
        "given": [words[bool(has[pair])] for pair in pairs],
        "predicted": [words[not has[pair]] for pair in pairs],
        "probability": stated.astype(np.float32),
    }
    write_table(path, columns | _taken(texts, rows), "tsv")
    return len(pairs)


def write_suspects_of_values(path: str, ids: Sequence[str], given: np.ndarray, values: np.ndarray, texts: Texts) -> int:
    """The same for numbers: every row, those that are furthest from their number first.

    Columns: id, given, predicted, difference (predicted minus given), text; given and values float32 [n].
    """
    rows = np.argsort(-np.abs(values - given), kind="stable").tolist()
    columns: dict[str, Column] = {
        "id": [ids[row] for row in rows],
        "given": given[rows].astype(np.float32),
        "predicted": values[rows].astype(np.float32),
        "difference": (values - given)[rows].astype(np.float32),
    }
    write_table(path, columns | _taken(texts, rows), "tsv")
    return len(rows)


class DisputedWord(NamedTuple):
    """A word whose predicted tag is another than that of the data: numbers of its sentence and of the word, from 0.

    probability: of the tag of the data.
    """

    sentence: int
    word: int
    probability: float


def disputed_words(
    given: Sequence[Sequence[str]], predictions: Sequence[TagPrediction], labels: Sequence[str]
) -> list[DisputedWord]:
    """Those words whose tag has the least probability first, of equal ones in their order; words without pieces are none.

    given: the tags of the data, in BIO; labels: the columns of log_probabilities.
    """
    index, found = {label: column for column, label in enumerate(labels)}, []
    for sentence, (tags, prediction) in enumerate(zip(given, predictions, strict=True)):
        is_seen = ~np.isnan(prediction.probabilities)
        for word, (tag, predicted) in enumerate(zip(tags, prediction.tags, strict=True)):
            if is_seen[word] and tag != predicted:
                probability = np.exp(prediction.log_probabilities[word, index[tag]])
                found.append(DisputedWord(sentence, word, float(probability)))
    return sorted(found, key=lambda each: each.probability)


def write_tagging_folds(
    path: str, file: TaggingFile, folds: np.ndarray, predictions: Sequence[TagPrediction], scheme: str
) -> None:
    """write_folds for the sentences of a file: id is the line of the first word; the tags of a sentence stand in one cell.

    predictions: of each sentence; the tags of the file are in BIO, and are written in `scheme`.
    """
    texts = [(" ".join(example.words), None) for example in file.examples]
    given, predicted = (
        [" ".join(from_bio(tags, scheme)) for tags in every]
        for every in (file.tags, [prediction.tags for prediction in predictions])
    )
    write_folds(path, [str(example.line) for example in file.examples], folds, given, {"predicted": predicted}, texts)


def write_suspects_of_words(
    path: str, file: TaggingFile, predictions: Sequence[TagPrediction], labels: Sequence[str], scheme: str
) -> int:
    """Write suspects.tsv for tags, a line for each word in doubt; returns their number. See `disputed_words`.

    Columns: id (the line of the sentence's first word), place (of the word in its sentence, from 1), line (of the word), given
    (the tag of the data), predicted, probability (of the given tag), word, text (the sentence).
    """
    examples, given = file.examples, file.tags
    words = disputed_words(given, predictions, labels)
    sentences = [examples[each.sentence] for each in words]
    columns: dict[str, Column] = {
        "id": [str(example.line) for example in sentences],
        "place": [str(each.word + 1) for each in words],
        "line": [str(file.line_of(example, each.word)) for example, each in zip(sentences, words, strict=True)],
        "given": [from_bio(given[each.sentence], scheme)[each.word] for each in words],
        "predicted": [from_bio(predictions[each.sentence].tags, scheme)[each.word] for each in words],
        "probability": np.array([each.probability for each in words], np.float32),
        "word": [example.words[each.word] for example, each in zip(sentences, words, strict=True)],
        "text": [" ".join(example.words) for example in sentences],
    }
    write_table(path, columns, "tsv")
    return len(words)
