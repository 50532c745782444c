"""Cross-validation files of bert-tag: out-of-fold tags, and words that are probably mislabeled."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.examples.tagging import TaggingExample, TaggingFile
from bert_cli.examples.token_files.notation import TagNotation
from bert_cli.outputs.answers.tagging import TagPrediction
from bert_cli.outputs.classification import write_table
from bert_cli.outputs.folds import write_folds
from bert_cli.problem_types.columns import Column, NumberColumn, TextColumn


class SuspectedWord(NamedTuple):
    """A word with a predicted tag that differs from its gold tag.

    Attributes:
        sentence: sentence number, from 0.
        word: word number in the sentence, from 0.
        probability: the gold tag's probability.
    """

    sentence: int
    word: int
    probability: float


def suspected_words(
    gold_tags: Sequence[Sequence[str]], predictions: Sequence[TagPrediction], labels: Sequence[str]
) -> list[SuspectedWord]:
    """Return the words that are probably mislabeled, least probable gold tag first.

    Words without word pieces are skipped. Ties keep the data's order.

    Args:
        gold_tags: BIO tags per sentence.
        predictions: predictions for the same sentences.
        labels: label names, in column order of `log_probabilities`.
    """
    index = {label: column for column, label in enumerate(labels)}
    suspects = []
    for sentence, (tags, prediction) in enumerate(zip(gold_tags, predictions, strict=True)):
        is_seen = ~np.isnan(prediction.probabilities)
        for word, (tag, predicted) in enumerate(zip(tags, prediction.tags, strict=True)):
            if is_seen[word] and tag != predicted:
                probability = np.exp(prediction.log_probabilities[word, index[tag]])
                suspects.append(SuspectedWord(sentence, word, float(probability)))
    return sorted(suspects, key=lambda suspect: suspect.probability)


def write_tagging_folds(
    path: str,
    file: TaggingFile,
    assignments: Sequence[np.ndarray],
    predictions: Sequence[TagPrediction],
    notation: TagNotation,
) -> None:
    """Write out_of_fold.tsv for sentences, with all tags in one cell per sentence.

    The id is the sentence's name, or its first word's line.

    Args:
        path: file to write.
        file: sentences with gold tags in BIO.
        assignments: fold per sentence, from 0, per repeat.
        predictions: prediction for each sentence.
        notation: tag notation to use.
    """
    texts = [(" ".join(example.words), None) for example in file.examples]
    tags = {"given": file.tags, "predicted": [prediction.tags for prediction in predictions]}
    columns: dict[str, Column] = {
        name: TextColumn([" ".join(notation.encode(sentence_tags)) for sentence_tags in tags_of_sentences])
        for name, tags_of_sentences in tags.items()
    }
    write_folds(path, [_id(example) for example in file.examples], assignments, columns, texts)


def _id(example: TaggingExample) -> str:
    # A table row's line may differ from its row number.
    return example.name or str(example.lines[0] if example.lines else example.line)


def write_suspects_of_words(
    path: str,
    file: TaggingFile,
    predictions: Sequence[TagPrediction],
    labels: Sequence[str],
    notation: TagNotation,
) -> int:
    """Write suspects.tsv for tags, a line per suspected word, and return the number of words.

    The columns are id (see write_tagging_folds), place (the word's number in its sentence, from 1),
    line, given (the gold tag), predicted, probability (for the gold tag), word and text (the
    sentence).

    Args:
        path: file to write.
        file: sentences with gold tags in BIO.
        predictions: prediction for each sentence.
        labels: label names, in column order of `log_probabilities`.
        notation: tag notation to use.
    """
    examples, gold_tags = file.examples, file.tags  # each access to file.tags builds all tags again
    suspects = suspected_words(gold_tags, predictions, labels)
    sentences = [examples[suspect.sentence] for suspect in suspects]
    texts = {
        "id": [_id(example) for example in sentences],
        "place": [str(suspect.word + 1) for suspect in suspects],
        "line": [
            str(file.line_of(example, suspect.word)) for example, suspect in zip(sentences, suspects, strict=True)
        ],
        "given": [notation.encode(gold_tags[suspect.sentence])[suspect.word] for suspect in suspects],
        "predicted": [notation.encode(predictions[suspect.sentence].tags)[suspect.word] for suspect in suspects],
        "word": [example.words[suspect.word] for example, suspect in zip(sentences, suspects, strict=True)],
        "text": [" ".join(example.words) for example in sentences],
    }
    columns: dict[str, Column] = {
        name: TextColumn(texts[name]) for name in ("id", "place", "line", "given", "predicted")
    }
    columns["probability"] = NumberColumn(np.array([suspect.probability for suspect in suspects], np.float32))
    write_table(path, columns | {name: TextColumn(texts[name]) for name in ("word", "text")}, "tsv")
    return len(suspects)
