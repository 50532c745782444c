"""Which words of a text mattered to a classifier: the rows of features.occlusion, computed, and what is said of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.base.head_types import MULTI_LABEL, MULTIPLE_CHOICE, REGRESSION
from bert_cli.examples.choice import ChoiceExample
from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.occlusion import masked_rows, uncovering_orders, word_shares, word_tokens
from bert_cli.outputs.eval_examples import EvalExamples, classification_examples, multiple_choice_examples
from bert_cli.runs.tasks.classification.results import Answers, SeveralLabels
from bert_cli.runs.tasks.classification.split import Split
from bert_cli.text.tokenization import FullTokenizer

if TYPE_CHECKING:
    from bert_cli.runs.engine.predictor import Predictor

BUDGET = 512  # rows of a text that is asked about
DEV_ROWS, DEV_WORDS, DEV_BUDGET = 6, 40, 48  # of the rows of the dev file that are explained for the report
METHOD = "occlusion with [MASK]: Shapley values, the mean over orders in which the words are uncovered"
_LEAST = 1e-30  # a probability of 0 counts as this


def scores(kind: str, found: Mapping[str, np.ndarray], label: int) -> np.ndarray:
    """What the words add up to, float64 [rows].

    single_label  the log-odds of the label against all others: of two labels, the difference of their logits
    multi_label   the log-odds of the label, its logit
    regression    the value
    """
    if kind == REGRESSION:
        return np.asarray(found["values"], np.float64)
    probabilities = np.asarray(found["probabilities"], np.float64)
    own = probabilities[:, label]
    if kind == MULTI_LABEL:
        own = np.clip(own, 1e-7, 1 - 6e-8)  # next to 1, float32 tells no more
        return np.log(own) - np.log1p(-own)
    others = np.delete(probabilities, label, axis=1).sum(axis=1)  # 1 − own has lost its digits where own is next to 1
    return np.log(np.maximum(own, _LEAST)) - np.log(np.maximum(others, _LEAST))


def explain(
    session: "Predictor",
    tokenizer: FullTokenizer,
    kind: str,
    labels: tuple[str, ...],
    texts: tuple[str, str | None],
    batch_size: int,
    budget: int = BUDGET,
) -> dict[str, Any]:
    """The most probable label of a text, or the number, and the share of each word in its score, ready for JSON.

    {"label", "probability"} or {"value"}; "score" of the text, "masked_score" of the text with all words masked, and
    "words", [{"word", "share"}] in the order of the text, "text_b" at those of the second one. The shares add up to
    score − masked_score. budget: about how many rows are computed.
    """
    tokens = word_tokens(*texts, tokenizer, session.max_seq_length)
    orders = uncovering_orders(len(tokens.seen), budget, seed=0)
    sequences = masked_rows(tokens, orders, tokenizer)
    ids = tuple(map(str, range(len(sequences))))
    shape = (len(ids), len(labels)) if kind == MULTI_LABEL else (len(ids),)
    label_ids = np.zeros(shape, np.float32 if kind in (MULTI_LABEL, REGRESSION) else np.int32)
    # A text is explained in one sequence, also to a model that reads several.
    starts = np.arange(len(ids) + 1) if session.has_windows else None
    features = ClassificationFeatures(sequences, label_ids, ids, 0, row_starts=starts)
    found = session.infer(features, batch_size, None)
    label = 0 if kind == REGRESSION else int(found["probabilities"][0].argmax())
    values = scores(kind, found, label)
    shares = word_shares(tokens, orders, values)
    said: dict[str, Any] = (
        {"value": _short(found["values"][0])}
        if kind == REGRESSION
        else {"label": labels[label], "probability": _short(found["probabilities"][0, label])}
    )
    words: list[dict[str, Any]] = [
        {"word": word, "share": _short(share)} | ({"text_b": True} if is_second else {})
        for word, share, is_second in zip(tokens.words, shares.tolist(), tokens.is_second, strict=True)
    ]
    return said | {"score": _short(values[0]), "masked_score": _short(values[1]), "words": words}


def _short(value: Any) -> float:
    return float(f"{value:.6g}")


def explained_examples(
    session: "Predictor",
    tokenizer: FullTokenizer,
    split: Split,
    answers: Answers,
    kind: str,
    labels: tuple[str, ...],
    found: dict[str, Any],
    batch_size: int,
) -> EvalExamples:
    """What the report shows of the rows of a split, of which the model `found` this, with explanations of some.

    Those of a choice are not explained: its words stand in several texts at once.
    """
    if kind == MULTIPLE_CHOICE:
        choices = [each for each in split.examples if isinstance(each, ChoiceExample)]
        contexts, endings = [each.context for each in choices], [each.endings for each in choices]
        return multiple_choice_examples(split.features.guids, contexts, endings, split.features.label_ids, found)
    texts = [(each.text_a, each.text_b) for each in split.examples if isinstance(each, ClassificationExample)]
    thresholds, features = answers.thresholds if isinstance(answers, SeveralLabels) else None, split.features
    examples = classification_examples(kind, labels, features.guids, texts, features.label_ids, found, thresholds)
    explain_rows(session, tokenizer, kind, labels, examples.rows, batch_size)
    return examples


def explain_rows(
    session: "Predictor",
    tokenizer: FullTokenizer,
    kind: str,
    labels: tuple[str, ...],
    rows: list[dict[str, Any]],
    batch_size: int,
) -> None:
    """Give some rows of outputs.eval_examples what `explain` says, as "explanation": short ones, mistakes first.

    All processes of a run take part: those of the rows that are computed are the same for all.
    """
    short = [
        row for row in rows if "text" in row and len(f"{row['text']} {row.get('text_b', '')}".split()) <= DEV_WORDS
    ]
    short.sort(key=lambda row: -_surprise(row))
    half = DEV_ROWS // 2
    for row in short[:half] + short[half:][-half:]:
        texts = row["text"], row.get("text_b")
        row["explanation"] = explain(session, tokenizer, kind, labels, texts, batch_size, DEV_BUDGET)


def _surprise(row: Mapping[str, Any]) -> float:
    """How wrong the model is on a row: a number that is larger for worse ones."""
    if "value" in row:
        return abs(row["value"] - row["predicted"])
    probabilities = row["probabilities"]
    if "label" in row:
        return 1.0 - probabilities[row["label"]]
    return max((abs(has - share) for has, share in zip(row["labels"], probabilities, strict=True)), default=0.0)


def coloured(record: Mapping[str, Any]) -> Any:
    """A text for a rich console: the words, green where they speak for the answer and red where against it."""
    from rich.text import Text

    text = Text()
    answer = f"{record['label']}  {record['probability']:.4f}" if "label" in record else f"{record['value']:.4f}"
    text.append(f"{answer}\n", style="bold")
    most = max((abs(word["share"]) for word in record["words"]), default=0.0) or 1.0
    for word in record["words"]:
        strength = abs(word["share"]) / most
        shade = round(30 + 130 * strength)
        tint = (20, shade, 60) if word["share"] > 0 else (shade + 20, 30, 40)
        style = f"white on rgb({tint[0]},{tint[1]},{tint[2]})" if strength > 0.1 else ""
        text.append(word["word"], style=style).append(" ")
    text.append(f"\nscore {record['score']:+.3f}, with all words masked {record['masked_score']:+.3f}\n", style="dim")
    for word in sorted(record["words"], key=lambda word: -abs(word["share"]))[:8]:
        text.append(f"  {word['share']:+8.3f}  ").append(f"{word['word']}\n")
    return text
