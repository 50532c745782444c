"""Which words of a text mattered to a classifier: the rows of features.occlusion, computed, and
what is said of them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.occlusion import WordTokens, masked_rows, uncovering_orders, word_shares, word_tokens
from bert_cli.outputs.eval_examples import EvalExamples, classification_examples
from bert_cli.problem_types.columns import significant
from bert_cli.problem_types.problem_type import Found
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset, Split

if TYPE_CHECKING:
    from bert_cli.runs.engine.predictor import Predictor

BUDGET = 512  # rows of a text that is asked about
# Of the rows of the dev file that are explained for the report.
DEV_ROWS, DEV_WORDS, DEV_BUDGET = 6, 40, 48
METHOD = "occlusion with [MASK]: Shapley values, the mean over orders in which the words are uncovered"


def text_record(text_a: str, text_b: str | None) -> dict[str, str]:
    """The texts of an answer in JSON."""
    return {"text": text_a} | ({} if text_b is None else {"text_b": text_b})


def explained_tokens(session: "Predictor", data: ClassificationDataset, text_a: str, text_b: str | None) -> WordTokens:
    """Return the tokens of a text or pair, as one sequence also if the model reads windows."""
    return word_tokens(text_a, text_b, data.tokenizer, session.max_seq_length)


def explain(
    session: "Predictor",
    data: ClassificationDataset,
    tokens: WordTokens,
    batch_size: int,
    budget: int = BUDGET,
) -> dict[str, Any]:
    """Return the label of a text, or the number, and the share of each word in its score.

    {"label", "probability"}, for multi-label classification {"labels", "explained_label",
    "probability"}, or {"value"}; "score" of the text, "masked_score" of the text with all words
    masked, and "words", [{"word", "share"}] in the order of the text, with "text_b" for words of
    the second text. The shares add up to score − masked_score. budget: about how many rows are
    computed.
    """
    problem_type = data.problem_type
    labels = data.answers.labels
    tokenizer = data.tokenizer
    # With a fixed seed, so that the same text has the same shares in every call.
    orders = uncovering_orders(len(tokens.seen), budget, seed=0)
    sequences = masked_rows(tokens, orders, tokenizer)
    ids = tuple(map(str, range(len(sequences))))
    # Zeros: the features need labels, whose losses nobody reads here.
    label_ids = problem_type.label_array([None] * len(ids), labels.names)
    # A text is explained in one sequence, also to a model that reads several.
    starts = np.arange(len(ids) + 1) if session.has_windows else None
    features = ClassificationFeatures(sequences, label_ids, ids, row_starts=starts)
    found = data.answers.infer(session, features, batch_size, None)
    said, values = problem_type.explained_score(found, labels)
    shares = word_shares(tokens, orders, values)
    words: list[dict[str, Any]] = [
        {"word": word, "share": significant(share)} | ({"text_b": True} if is_second else {})
        for word, share, is_second in zip(tokens.words, shares.tolist(), tokens.is_second, strict=True)
    ]
    return said | {
        "score": significant(values[0]),
        "masked_score": significant(values[1]),
        "words": words,
    }


def explained_examples(
    session: "Predictor", data: ClassificationDataset, split: Split, found: Found, batch_size: int
) -> EvalExamples:
    """What the report shows of the rows of a split with these predictions, some of them with
    `explain` as "explanation": short ones, mistakes first.

    All processes of a run take part: the rows that are computed are the same for all.
    """
    problem_type = data.problem_type
    calibration = data.answers.calibration
    temperature = calibration.temperatures[0] if calibration and problem_type.is_exclusive else None
    examples = classification_examples(
        problem_type, data.answers.labels, split.features.label_ids, found, split.row_text, temperature
    )
    # A choice is not explained: its words are in several texts at once.
    if problem_type.has_endings:
        return examples
    texts = [row for row in examples.rows if "text" in row]
    short = [row for row in texts if len(f"{row['text']} {row.get('text_b', '')}".split()) <= DEV_WORDS]
    # The largest surprises and the least: what misled the model, and what it goes by where it is
    # right.
    short.sort(key=lambda row: -problem_type.row_surprise(row))
    half = DEV_ROWS // 2
    for row in short[:half] + short[half:][-half:]:
        tokens = explained_tokens(session, data, row["text"], row.get("text_b"))
        row["explanation"] = explain(session, data, tokens, batch_size, DEV_BUDGET)
    return examples


def _answer(record: Mapping[str, Any]) -> str:
    if "value" in record:
        return f"{record['value']:.4f}"
    if "labels" not in record:
        return f"{record['label']}  {record['probability']:.4f}"
    labels = ", ".join(record["labels"]) or "none"
    return f"labels: {labels}; explained: {record['explained_label']}  {record['probability']:.4f}"


def coloured(record: Mapping[str, Any]) -> Any:
    """A text for a rich console: the words, green where they speak for the answer and red where
    against it.
    """
    from rich.text import Text

    text = Text()
    text.append(f"{_answer(record)}\n", style="bold")
    # Relative to the largest share, which is 0 where no word mattered.
    most = max((abs(word["share"]) for word in record["words"]), default=0.0) or 1.0
    for word in record["words"]:
        strength = abs(word["share"]) / most
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
