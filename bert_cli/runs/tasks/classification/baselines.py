"""Metrics of two baselines: the majority class or mean, and TF-IDF with a linear model."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bert_cli.examples.classification import ClassificationExample
from bert_cli.metrics.classification import LOSSES
from bert_cli.metrics.multi_label import DEFAULT_THRESHOLD
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset, Split
from bert_cli.runs.tasks.classification.decoder import Decoder

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# With these limits, the linear model takes seconds at most: it uses a sample of training rows, and
# only the beginning of long texts.
_MAX_ROWS, _MAX_LABELED, _MAX_CHARACTERS = 10_000, 100_000, 4_000_000
_MAX_TEXT_LENGTH = 1_000  # characters
# A token is a word, a punctuation character, or one character in scripts without spaces.
_TOKEN = r"[\u3040-\u30ff\u3400-\u9fff]|\w+|[^\w\s]"
_OMITTED_METRICS = (*LOSSES, "eval_examples")


def score_baselines(
    data: ClassificationDataset, dev: Split, decoder: Decoder, batch_size: int
) -> dict[str, dict[str, float]]:
    """Return each baseline's metrics on the dev rows, {} if the training rows are unknown.

    They are the model's metrics except losses, and their names have no prefix `eval_`. The sample
    of training rows depends only on --random_seed.

    Args:
        data: dataset with the training rows.
        dev: rows to evaluate on.
        decoder: the model's decoder. Tuned thresholds are also tuned for the linear model.
        batch_size: --eval_batch_size.
    """
    train = data.splits.get("train")
    if train is None:
        return {}
    problem_type = data.problem_type
    label_ids = train.features.label_ids
    num_outputs = len(data.labels) or (len(train.choices[0].choices) if problem_type.has_choices else 1)
    constant, linear = problem_type.metrics.baseline_names
    default_decoder = decoder
    if problem_type.decoder.has_thresholds:
        # Thresholds that were tuned on the model's probabilities do not fit others.
        thresholds = np.full(len(data.labels), DEFAULT_THRESHOLD)
        default_decoder = dataclasses.replace(decoder, labels=decoder.labels._replace(thresholds=thresholds))
    outputs = problem_type.metrics.constant_prediction(label_ids, len(dev.examples), num_outputs)
    metrics = {constant: _evaluate_baseline(default_decoder, dev, outputs, batch_size, should_tune=False)}
    features = None if problem_type.has_choices else _tfidf_features(data, train, dev, num_outputs)
    if features:
        rows, train_features, dev_features = features
        outputs = problem_type.metrics.linear_prediction(train_features, label_ids[rows], dev_features, num_outputs)
        metrics[linear] = _evaluate_baseline(default_decoder, dev, outputs, batch_size, should_tune=True)
    return metrics


def _evaluate_baseline(
    decoder: Decoder, dev: Split, outputs: np.ndarray, batch_size: int, should_tune: bool
) -> dict[str, float]:
    problem_type = decoder.problem_type
    label_ids = dev.features.label_ids
    # The losses are not reported, so zeros are enough.
    predictions = {problem_type.decoder.output_name: outputs, "losses": np.zeros(len(outputs), np.float32)}
    labels = decoder.with_tuned_thresholds(label_ids, predictions).labels if should_tune else decoder.labels
    metrics = problem_type.metrics.evaluate(label_ids, predictions, labels, batch_size).metrics
    return {name.removeprefix("eval_"): float(metrics[name]) for name in metrics if name not in _OMITTED_METRICS}


def _tfidf_features(
    data: ClassificationDataset, train: Split, dev: Split, num_outputs: int
) -> "tuple[np.ndarray, csr_matrix, csr_matrix] | None":
    """Return sampled training rows (their indices), their features, and the dev rows' features.

    Features are the TF-IDF of words and word pairs. Return None if no text has a word.

    Args:
        data: dataset with --random_seed.
        train: training rows.
        dev: rows to evaluate on.
        num_outputs: number of outputs; with more outputs, the sample is smaller.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = _texts(train.texts)
    characters = sum(map(len, texts))
    max_rows = min(_MAX_ROWS, max(_MAX_ROWS // 10, _MAX_LABELED // num_outputs))
    max_rows = min(max_rows, int(len(texts) * _MAX_CHARACTERS / max(characters, 1)))
    rows = np.arange(len(texts))
    if max_rows < len(texts):
        drawn_rows = np.random.default_rng(data.settings.seed.random_seed).choice(
            len(texts), max(max_rows, 1), replace=False
        )
        rows = np.sort(drawn_rows)
    sampled_texts = [texts[row] for row in rows.tolist()]
    if not any(text.strip() for text in sampled_texts):
        return None
    vectorizer = TfidfVectorizer(token_pattern=_TOKEN, ngram_range=(1, 2), sublinear_tf=True)
    train_features = vectorizer.fit_transform(sampled_texts)
    return rows, train_features, vectorizer.transform(_texts(dev.texts))


def _texts(examples: Sequence[ClassificationExample]) -> list[str]:
    """Return texts cut to their first characters; a pair is joined by a newline."""
    return [f"{example.text_a[:_MAX_TEXT_LENGTH]}\n{(example.text_b or '')[:_MAX_TEXT_LENGTH]}" for example in examples]
