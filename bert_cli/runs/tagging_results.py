"""What bert-tag makes of a trained model: scores, files of predictions, and tagged plain text."""

import json
import logging
import os
import time
from collections.abc import Iterator

import numpy as np

from bert_cli.examples.tag_schemes import from_bio
from bert_cli.features.tagging import TaggingFeatures
from bert_cli.outputs.eval_results import write_eval_results
from bert_cli.outputs.tagging import (
    TagPrediction,
    example_entities,
    predict_tags,
    write_columns,
    write_entities,
    write_json_lines,
)
from bert_cli.outputs.tagging_scores import eval_results, format_scores, tagging_scores
from bert_cli.runs.tagging_data import Split, TaggingData

LOG = logging.getLogger("bert_cli")


def window_log_probabilities(
    session, features: TaggingFeatures, batch_size: int, title: str
) -> Iterator[tuple[int, np.ndarray]]:
    """(number of the window, float32 [S, L]) of every window, longest first; rows behind its tokens mean nothing."""
    for rows, found in session.over(features, batch_size, title):
        yield from zip(rows.tolist(), found["log_probabilities"], strict=True)


def _tag(
    session, split: Split, data: TaggingData, settings, batch_size: int, title: str
) -> tuple[list[TagPrediction], float]:
    """The predictions for a split, and how many sentences there were each second."""
    began = time.monotonic()
    windows = window_log_probabilities(session, split.features, batch_size, title)
    predictions = predict_tags(split.features, windows, data.labels, settings.decoding)
    return predictions, round(len(predictions) / (time.monotonic() - began), 2)


def _score(split: Split, predictions: list[TagPrediction], title: str) -> dict:
    """Log the table of scores; returns the entries of eval_results.txt."""
    gold = [example.tags for example in split.file.examples]
    scores = tagging_scores(gold, [prediction.tags for prediction in predictions])
    LOG.info("***** %s results *****", title)
    for line in format_scores(scores):
        LOG.info("  %s", line)
    return eval_results(scores)


def evaluate(session, data: TaggingData, settings, global_step: int) -> dict:
    """Score the dev file, write eval_results.txt; returns entries for the report."""
    split = data.splits["dev"]
    predictions, rate = _tag(session, split, data, settings, settings.eval_batch_size, "evaluating")
    results = _score(split, predictions, "Eval") | {"global_step": global_step}
    if session.is_chief:
        write_eval_results(os.path.join(settings.output_dir, "eval_results.txt"), results)
    return {"eval_examples_per_second": rate, "decoding": settings.decoding, "eval": results}


def predict(session, data: TaggingData, settings) -> dict:
    """Write test_predictions.txt, or .jsonl for JSON lines, and score them where the test file has tags."""
    split = data.splits["test"]
    predictions, rate = _tag(session, split, data, settings, settings.predict_batch_size, "predicting")
    report = {"predict_examples_per_second": rate, "decoding": settings.decoding}
    if split.has_tags:
        report |= {"test": _score(split, predictions, "Test")}
    if session.is_chief:
        is_json = split.file.is_json
        path = os.path.join(settings.output_dir, "test_predictions.jsonl" if is_json else "test_predictions.txt")
        write = write_json_lines if is_json else write_columns
        write(path, split.file, [prediction.tags for prediction in predictions], data.scheme)
        LOG.info("wrote %s: %d sentences", path, len(predictions))
    return report


def write_plain_text(session, data: TaggingData, settings) -> None:
    """Print the words of --text with their tags, then its entities as JSON; the latter alone for each line of a file."""
    split = data.splits["text"]
    examples = split.file.examples
    predictions, _ = _tag(session, split, data, settings, settings.predict_batch_size, "tagging")
    if not session.is_chief:
        return
    if settings.input_file and settings.output_file != "-":
        write_entities(settings.output_file, examples, predictions)
        LOG.info("wrote %s: %d texts", settings.output_file, len(examples))
        return
    for example, prediction in zip(examples, predictions, strict=True):
        if settings.text:
            for word, tag in zip(example.words, from_bio(prediction.tags, data.scheme), strict=True):
                print(f"{word}\t{tag}")
        print(json.dumps(example_entities(example, prediction), ensure_ascii=False), flush=True)
