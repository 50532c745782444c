"""Explanations for a classifier's predictions: each word's share in a text's score."""

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bert_cli.examples.text_lines import TextLine
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.cuts import warn_cuts
from bert_cli.features.occlusion import WordTokens, masked_rows, uncovering_orders, word_shares, word_tokens
from bert_cli.outputs.eval_examples import EvalExamples, classification_examples
from bert_cli.problem_types.columns import significant
from bert_cli.problem_types.parts import Predictions
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset, Split
from bert_cli.runtime.streams import print_text

if TYPE_CHECKING:
    from bert_cli.inference.rows import Predictor

BUDGET = 512  # masked copies per text, for --explain
# The report explains 6 dev rows of at most 40 words, with 48 masked copies each.
DEV_ROWS, DEV_WORDS, DEV_BUDGET = 6, 40, 48
METHOD = "occlusion with [MASK]: Shapley values, the mean over orders in which the words are uncovered"


def text_record(text_a: str, text_b: str | None) -> dict[str, str]:
    """Return the keys for the text or pair in a JSON line with a prediction."""
    return {"text": text_a} | ({} if text_b is None else {"text_b": text_b})


def tokenize_for_explanation(
    predictor: "Predictor", data: ClassificationDataset, text_a: str, text_b: str | None
) -> WordTokens:
    """Return a text's or pair's tokens, as one sequence even if the model uses windows.

    Args:
        predictor: the opened model, which has the sequence length.
        data: dataset with the tokenizer.
        text_a: the text.
        text_b: second text of a pair, or None.
    """
    return word_tokens(text_a, text_b, data.tokenizer, predictor.max_seq_length)


def explain(
    predictor: "Predictor",
    data: ClassificationDataset,
    tokens: WordTokens,
    batch_size: int,
    budget: int = BUDGET,
) -> dict[str, Any]:
    """Return the prediction for a text, and each word's share in the score.

    The result has these keys:

    label, probability                      prediction for single-label classification
    labels, explained_label, probability    prediction for multi-label classification
    value                                   prediction for regression
    score, masked_score                     score of the text, without and with all words masked
    words                                   {"word", "share"} per word in text order, with
                                            "text_b": true for the second text

    The shares add up to score − masked_score.

    Args:
        predictor: the opened model.
        data: dataset with decoder and tokenizer.
        tokens: result of tokenize_for_explanation.
        batch_size: rows per batch.
        budget: approximate number of masked copies to predict.
    """
    problem_type = data.decoder.problem_type
    labels = data.decoder.labels
    tokenizer = data.tokenizer
    # Use a fixed seed: the same text must have the same shares in every call.
    orders = uncovering_orders(len(tokens.seen), budget, seed=0)
    sequences = masked_rows(tokens, orders, tokenizer)
    ids = tuple(map(str, range(len(sequences))))
    # The features need labels, but nothing reads the losses, so missing labels are enough.
    label_ids = problem_type.reader.label_array([None] * len(ids), labels.names)
    # Even for a model with windows, each masked copy is one sequence.
    features = ClassificationFeatures(sequences, label_ids, ids)
    predictions = data.decoder.infer(predictor, features, batch_size, None)
    prediction, values = problem_type.decoder.explained_score(predictions, labels)
    shares = word_shares(tokens, orders, values)
    words: list[dict[str, Any]] = [
        {"word": word, "share": significant(share)} | ({"text_b": True} if is_second else {})
        for word, share, is_second in zip(tokens.words, shares.tolist(), tokens.is_second, strict=True)
    ]
    return prediction | {
        "score": significant(values[0]),
        "masked_score": significant(values[1]),
        "words": words,
    }


def explain_eval_examples(
    predictor: "Predictor",
    data: ClassificationDataset,
    split: Split,
    predictions: Predictions,
    batch_size: int,
) -> EvalExamples:
    """Return rows for the report; some short ones have an explanation under "explanation".

    All processes must call this together, because they share the computation.

    Args:
        predictor: the opened model.
        data: dataset with decoder and tokenizer.
        split: rows that were evaluated.
        predictions: predictions for these rows.
        batch_size: rows per batch.
    """
    problem_type = data.decoder.problem_type
    calibration = data.decoder.calibration
    temperature = calibration.temperatures[0] if calibration and problem_type.decoder.is_exclusive else None
    examples = classification_examples(
        problem_type,
        data.decoder.labels,
        split.features.label_ids,
        predictions,
        split.row_text,
        temperature,
    )
    # Multiple choice has no explanations: the context's words are in several sequences.
    if problem_type.has_choices:
        return examples
    texts = [row for row in examples.rows if "text" in row]
    short = [row for row in texts if len(f"{row['text']} {row.get('text_b', '')}".split()) <= DEV_WORDS]
    # Explain the most and the least surprising rows: they show which words mislead the model, and
    # which words it relies on for correct predictions.
    short.sort(key=lambda row: -problem_type.metrics.row_surprise(row))
    half = DEV_ROWS // 2
    for row in short[:half] + short[half:][-half:]:
        tokens = tokenize_for_explanation(predictor, data, row["text"], row.get("text_b"))
        row["explanation"] = explain(predictor, data, tokens, batch_size, DEV_BUDGET)
    return examples


def _format_prediction(record: Mapping[str, Any]) -> str:
    if "value" in record:
        return f"{record['value']:.4f}"
    if "labels" not in record:
        return f"{record['label']}  {record['probability']:.4f}"
    labels = ", ".join(record["labels"]) or "none"
    return f"labels: {labels}; explained: {record['explained_label']}  {record['probability']:.4f}"


def format_colored(record: Mapping[str, Any]) -> Any:
    """Return a text for a rich console: words for the prediction are green, words against it red.

    Args:
        record: result of `explain`.
    """
    from rich.text import Text

    text = Text()
    text.append(f"{_format_prediction(record)}\n", style="bold")
    # Colors are relative to the largest share, which is 0 if no word matters.
    max_share = max((abs(word["share"]) for word in record["words"]), default=0.0) or 1.0
    for word in record["words"]:
        strength = abs(word["share"]) / max_share
        shade = round(30 + 130 * strength)
        tint = (20, shade, 60) if word["share"] > 0 else (shade + 20, 30, 40)
        style = f"white on rgb({tint[0]},{tint[1]},{tint[2]})" if strength > 0.1 else ""
        text.append(word["word"], style=style).append(" ")
    text.append(
        f"\nscore {record['score']:+.3f}, with all words masked {record['masked_score']:+.3f}\n",
        style="dim",
    )
    for word in sorted(record["words"], key=lambda word: -abs(word["share"]))[:8]:
        text.append(f"  {word['share']:+8.3f}  ").append(f"{word['word']}\n")
    return text


def print_explanation(predictor: "Predictor", data: ClassificationDataset, line: TextLine, batch_size: int) -> None:
    """Print the prediction with each word's share: in color at a terminal, as JSON otherwise.

    Args:
        predictor: the opened model.
        data: dataset with decoder and tokenizer.
        line: the text or pair.
        batch_size: rows per batch.
    """
    tokens = tokenize_for_explanation(predictor, data, line.text_a, line.text_b)
    warn_cuts(tokens.cuts, data.settings.encoding.max_seq_length, place="--explain")
    record = explain(predictor, data, tokens, batch_size)
    if not predictor.is_chief:
        return
    record = text_record(line.text_a, line.text_b) | record
    if sys.stdout.isatty():
        from rich.console import Console

        Console().print(format_colored(record))
    else:
        print_text(json.dumps(record | {"method": METHOD}, ensure_ascii=False))
