"""Explanations of predictions in the report and at the terminal."""

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bert_cli.base.names import show_names
from bert_cli.examples.text_lines import TextLine
from bert_cli.features.packing import cut_entry, warn_cuts
from bert_cli.outputs.eval_examples import EvalExamples, classification_examples
from bert_cli.predicting.explanation import explain, text_record, word_tokens
from bert_cli.problem_types.parts import PredictionArrays
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset
from bert_cli.runs.tasks.classification.encoded_splits import ClassificationSplit
from bert_cli.runtime.streams import print_text

if TYPE_CHECKING:
    from bert_cli.inference.rows import Predictor

# The report explains 6 dev rows of at most 40 words, with 48 masked copies each.
DEV_ROWS, DEV_WORDS, DEV_BUDGET = 6, 40, 48
METHOD = "occlusion with [MASK]: Shapley values, the mean over orders in which the words are uncovered"


def explain_eval_examples(
    predictor: "Predictor",
    data: ClassificationDataset,
    split: ClassificationSplit,
    predictions: PredictionArrays,
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
    # Labels with separate temperatures have no common one.
    temperature = calibration.temperatures[0] if calibration and not data.decoder.temperature_names else None
    examples = classification_examples(
        problem_type,
        data.decoder.labels,
        split.features.label_ids,
        predictions,
        split.row_text,
        temperature,
    )
    explainer = problem_type.explainer
    if not explainer:
        return examples
    texts = [row for row in examples.rows if "text" in row]
    short = [row for row in texts if len(f"{row['text']} {row.get('text_b', '')}".split()) <= DEV_WORDS]
    # Explain the most and the least surprising rows: they show which words mislead the model, and
    # which words it relies on for correct predictions.
    short.sort(key=lambda row: -explainer.row_surprise(row))
    half = DEV_ROWS // 2
    for row in short[:half] + short[half:][-half:]:
        tokens = word_tokens(row["text"], row.get("text_b"), data.tokenizer, predictor.max_seq_length)
        row["explanation"] = explain(predictor, data.decoder, data.tokenizer, tokens, batch_size, DEV_BUDGET)
    return examples


def _format_prediction(record: Mapping[str, Any]) -> str:
    if "value" in record:
        return f"{record['value']:.4f}"
    if "labels" not in record:
        return f"{record['label']}  {record['probability']:.4f}"
    labels = show_names(record["labels"]) or "none"
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
    tokens = word_tokens(line.text_a, line.text_b, data.tokenizer, predictor.max_seq_length)
    warn_cuts(tokens.cuts, data.settings.encoding.max_seq_length, place="--explain")
    record = explain(predictor, data.decoder, data.tokenizer, tokens, batch_size)
    if not predictor.is_chief:
        return
    record = text_record(line.text_a, line.text_b) | record
    if sys.stdout.isatty():
        from rich.console import Console

        Console().print(format_colored(record))
    else:
        record |= cut_entry(tokens.cuts.num_cut_tokens) | {"method": METHOD}
        print_text(json.dumps(record, ensure_ascii=False))
