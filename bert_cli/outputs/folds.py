"""Files of a cross-validation: out-of-fold predictions for every training row, and suspected label
errors.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.examples.tagging import TaggingExample, TaggingFile
from bert_cli.examples.token_files.notation import TagNotation
from bert_cli.outputs.classification import Texts, text_columns, write_table
from bert_cli.outputs.tagging import TagPrediction
from bert_cli.problem_types.columns import Column
from bert_cli.problem_types.problem_type import Suspects


def write_folds(path: str, ids: Sequence[str], folds: np.ndarray, found: dict[str, Column], texts: Texts) -> None:
    """Write out_of_fold.tsv: id, fold (from 1), what was `found` of each row, the given label first, text."""
    # From 1, as the log and --cross_validation count folds.
    numbers = [str(fold + 1) for fold in folds.tolist()]
    write_table(path, {"id": ids, "fold": numbers, **found, **text_columns(texts)}, "tsv")


def write_suspects(path: str, ids: Sequence[str], suspects: Suspects, texts: Texts) -> None:
    """Write suspects.tsv: id, the columns of the problem type, text; a line for each suspected
    label error.
    """
    rows = suspects.rows
    columns = {"id": [ids[row] for row in rows], **suspects.columns}
    write_table(path, columns | text_columns([texts[row] for row in rows]), "tsv")


class SuspectedWord(NamedTuple):
    """A word with a predicted tag that differs from the data: numbers of its sentence and of the
    word, from 0.

    probability: of the tag of the data.
    """

    sentence: int
    word: int
    probability: float


def suspected_words(
    given: Sequence[Sequence[str]], predictions: Sequence[TagPrediction], labels: Sequence[str]
) -> list[SuspectedWord]:
    """Those words whose tag has the least probability first, of equal ones in their order; words
    without pieces are none.

    given: the tags of the data, in BIO; labels: the columns of log_probabilities.
    """
    index = {label: column for column, label in enumerate(labels)}
    found = []
    for sentence, (tags, prediction) in enumerate(zip(given, predictions, strict=True)):
        is_seen = ~np.isnan(prediction.probabilities)
        for word, (tag, predicted) in enumerate(zip(tags, prediction.tags, strict=True)):
            if is_seen[word] and tag != predicted:
                probability = np.exp(prediction.log_probabilities[word, index[tag]])
                found.append(SuspectedWord(sentence, word, float(probability)))
    return sorted(found, key=lambda each: each.probability)


def write_tagging_folds(
    path: str, file: TaggingFile, folds: np.ndarray, predictions: Sequence[TagPrediction], notation: TagNotation
) -> None:
    """write_folds for the sentences of a file: id is the name or the line of the first word; the
    tags of a sentence are in one cell.

    predictions: of each sentence; the tags of the file are in BIO, and are written in `notation`.
    """
    texts = [(" ".join(example.words), None) for example in file.examples]
    tags = {"given": file.tags, "predicted": [prediction.tags for prediction in predictions]}
    columns: dict[str, Column] = {
        name: [" ".join(notation.encode(each)) for each in every] for name, every in tags.items()
    }
    write_folds(path, [_id(example) for example in file.examples], folds, columns, texts)


def _id(example: TaggingExample) -> str:
    # A row of a table may be in another line than its number.
    return example.name or str(example.lines[0] if example.lines else example.line)


def write_suspects_of_words(
    path: str, file: TaggingFile, predictions: Sequence[TagPrediction], labels: Sequence[str], notation: TagNotation
) -> int:
    """Write suspects.tsv for tags, a line for each word in doubt; returns their number. See
    `suspected_words`.

    Columns: id (the name of the sentence, or the line of its first word), place (of the word in its
    sentence, from 1), line (of the word), given (the tag of the data), predicted, probability (of
    the given tag), word, text (the sentence).
    """
    examples, given = file.examples, file.tags  # each access to tags builds all of them again
    words = suspected_words(given, predictions, labels)
    sentences = [examples[each.sentence] for each in words]
    columns: dict[str, Column] = {
        "id": [_id(example) for example in sentences],
        "place": [str(each.word + 1) for each in words],
        "line": [str(file.line_of(example, each.word)) for example, each in zip(sentences, words, strict=True)],
        "given": [notation.encode(given[each.sentence])[each.word] for each in words],
        "predicted": [notation.encode(predictions[each.sentence].tags)[each.word] for each in words],
        "probability": np.array([each.probability for each in words], np.float32),
        "word": [example.words[each.word] for example, each in zip(sentences, words, strict=True)],
        "text": [" ".join(example.words) for example in sentences],
    }
    write_table(path, columns, "tsv")
    return len(words)
