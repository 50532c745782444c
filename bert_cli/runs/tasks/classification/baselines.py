"""What simple predictors reach on the rows of an evaluation: the majority class or mean, and TF-IDF
with a linear model.
"""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bert_cli.examples.classification import ClassificationExample
from bert_cli.metrics.classification import LOSSES
from bert_cli.metrics.multi_label import DEFAULT_THRESHOLD
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset, Split
from bert_cli.runs.tasks.classification.decoder import Answers

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# Bounds with which the linear model takes seconds at most: of the training rows a sample, of each
# text its beginning.
_MOST_ROWS, _MOST_LABELED, _MOST_CHARACTERS = 10_000, 100_000, 4_000_000
_TEXT = 1_000  # characters
# Words, punctuation, and each character of scripts without blanks between words.
_TOKEN = r"[\u3040-\u30ff\u3400-\u9fff]|\w+|[^\w\s]"
_LEFT_OUT = (*LOSSES, "eval_examples")


def baselines(
    data: ClassificationDataset, dev: Split, answers: Answers, batch_size: int
) -> dict[str, dict[str, float]]:
    """For each baseline its metrics on the rows of `dev`: the metrics of the model but for losses,
    without `eval_`.

    {} where the training rows are not known. answers: the model's, whose thresholds are tuned for
    the linear model too, where they are tuned. Deterministic: the sample of training rows is drawn
    with --random_seed.
    """
    train = data.splits.get("train")
    if train is None:
        return {}
    problem_type = data.problem_type
    label_ids = train.features.label_ids
    outputs = len(data.labels) or (len(train.choices[0].endings) if problem_type.has_endings else 1)
    constant, linear = problem_type.baseline_names
    plain = answers
    if problem_type.has_thresholds:
        # Thresholds that were tuned on the model's probabilities say nothing of others.
        thresholds = np.full(len(data.labels), DEFAULT_THRESHOLD)
        plain = dataclasses.replace(answers, labels=answers.labels._replace(thresholds=thresholds))
    predicted = problem_type.constant_prediction(label_ids, len(dev.examples), outputs)
    found = {constant: _metrics(plain, dev, predicted, batch_size, tunes=False)}
    features = None if problem_type.has_endings else _tfidf(data, train, dev, outputs)
    if features:
        rows, known, others = features
        predicted = problem_type.linear_prediction(known, label_ids[rows], others, outputs)
        found[linear] = _metrics(plain, dev, predicted, batch_size, tunes=True)
    return found


def _metrics(plain: Answers, dev: Split, predicted: np.ndarray, batch_size: int, tunes: bool) -> dict[str, float]:
    problem_type = plain.problem_type
    label_ids = dev.features.label_ids
    # Metrics of losses are left out below, so any losses do.
    found = {problem_type.output_name: predicted, "losses": np.zeros(len(predicted), np.float32)}
    labels = plain.tuned(label_ids, found).labels if tunes else plain.labels
    metrics = problem_type.evaluate(label_ids, found, labels, batch_size).metrics
    return {name.removeprefix("eval_"): float(metrics[name]) for name in metrics if name not in _LEFT_OUT}


def _tfidf(
    data: ClassificationDataset, train: Split, dev: Split, outputs: int
) -> "tuple[np.ndarray, csr_matrix, csr_matrix] | None":
    """(rows of the training sample, their TF-IDF of words and pairs of words, TF-IDF of the dev
    rows).

    None where no text has a word.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = _texts(train.texts)
    characters = sum(map(len, texts))
    most = min(_MOST_ROWS, max(_MOST_ROWS // 10, _MOST_LABELED // outputs))
    most = min(most, int(len(texts) * _MOST_CHARACTERS / max(characters, 1)))
    rows = np.arange(len(texts))
    if most < len(texts):
        drawn = np.random.default_rng(data.settings.seed.random_seed).choice(len(texts), max(most, 1), replace=False)
        rows = np.sort(drawn)
    chosen = [texts[row] for row in rows.tolist()]
    if not any(text.strip() for text in chosen):
        return None
    vectorizer = TfidfVectorizer(token_pattern=_TOKEN, ngram_range=(1, 2), sublinear_tf=True)
    known = vectorizer.fit_transform(chosen)
    return rows, known, vectorizer.transform(_texts(dev.texts))


def _texts(examples: Sequence[ClassificationExample]) -> list[str]:
    """The beginnings of the texts; of a pair both, one after the other."""
    return [f"{each.text_a[:_TEXT]}\n{(each.text_b or '')[:_TEXT]}" for each in examples]
