"""Exact match and F1 in percent, as defined by the official SQuAD 1.1 and 2.0 scripts."""

import math
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import quote
from bert_cli.base.json_files import expect, json_type, read_json
from bert_cli.metrics.bootstrap import Intervals, bootstrap

# Baseline in run_report.json: no question gets an answer, which SQuAD 2.0 allows.
NO_ANSWER = "no_answer"
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalize_answer(text: str) -> str:
    """Return text in lower case, without ASCII punctuation and articles, with single spaces."""
    # Remove punctuation before articles, so that "a." is an article, too.
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(predicted: str, gold: str) -> float:
    """Return 1 if both answers are equal after normalize_answer, else 0."""
    return float(normalize_answer(predicted) == normalize_answer(gold))


def f1(predicted: str, gold: str) -> float:
    """Return the F1 (0 to 1) over the words of both answers after normalize_answer.

    It is 0 if either answer has no words.
    """
    predicted_words = normalize_answer(predicted).split()
    gold_words = normalize_answer(gold).split()
    common = sum((Counter(predicted_words) & Counter(gold_words)).values())
    # Return before the division: an answer without words has no precision.
    if not common:
        return 0.0
    precision, recall = common / len(predicted_words), common / len(gold_words)
    return 2 * precision * recall / (precision + recall)


def read_predictions(path: str) -> dict[str, str]:
    """Read a file {id: answer}; raise InputError if it has another layout."""
    advice = 'predictions are {"question id": "answer"}, as in predictions.json'
    answers = expect(read_json(path), dict, path, advice)
    return {qas_id: expect(text, str, f"{path}: {quote(qas_id)}", advice) for qas_id, text in answers.items()}


def read_null_odds(path: str) -> dict[str, float]:
    """Read a file {id: null odds}.

    Raises:
        InputError: the file has another layout, or a value is not a finite number.
    """
    advice = 'null odds are {"question id": number}, as in null_odds.json'
    odds = expect(read_json(path), dict, path, advice)
    for qas_id, value in odds.items():
        if type(value) not in (int, float):
            raise InputError(f"{path}: {quote(qas_id)}: is {json_type(value)}, a number is needed; {advice}")
        if not math.isfinite(value):
            raise InputError(f"{path}: {quote(qas_id)}: {value} is not a finite number; {advice}")
    return odds


def _percent(total: float, count: int) -> float:
    return 100.0 * total / count if count else 0.0


def _best_scores(answers: Sequence[str], predicted: str) -> tuple[float, float]:
    """Return a prediction's best exact match and best F1 with any gold answer."""
    return max(exact_match(predicted, answer) for answer in answers), max(f1(predicted, answer) for answer in answers)


def _missing(gold: Mapping[str, Sequence[str]], predictions: Mapping[str, str]) -> int:
    """Return the number of questions without prediction."""
    return sum(qas_id not in predictions for qas_id in gold)


def score_questions(
    version_2: bool, gold: Mapping[str, Sequence[str]], predictions: Mapping[str, str]
) -> dict[str, tuple[float, float]]:
    """Return exact match and F1 by question, 0 to 1; a question without prediction scores 0.

    Args:
        version_2: whether to use the rules of SQuAD 2.0.
        gold: gold answers per question.
        predictions: predicted answer per question.
    """
    score_answer = raw_scores if version_2 else _best_scores
    return {
        qas_id: score_answer(answers, predictions[qas_id]) if qas_id in predictions else (0.0, 0.0)
        for qas_id, answers in gold.items()
    }


def bootstrap_scores(
    version_2: bool,
    gold: Mapping[str, Sequence[str]],
    predictions: Mapping[str, str],
    samples: int,
    seed: int,
) -> Intervals:
    """Return confidence intervals for means over questions, not for the best thresholds.

    Args:
        version_2, gold, predictions: see score_questions.
        samples: number of samples.
        seed: their seed.
    """
    scores = 100 * np.array(list(score_questions(version_2, gold, predictions).values()))
    names = ("exact" if version_2 else "exact_match", "f1")
    has_answer = np.array([bool(answers) for answers in gold.values()])
    groups = {"": np.ones(len(scores), bool)}
    if version_2:
        groups |= {"HasAns_": has_answer, "NoAns_": ~has_answer}

    def measure(rows: np.ndarray) -> dict[str, float]:
        means: dict[str, float] = {}
        for group, is_member in groups.items():
            members = scores[rows[is_member[rows]]]
            if len(members):
                pairs = zip(names, members.mean(axis=0), strict=True)
                means |= {f"{group}{name}": mean for name, mean in pairs}
        return means

    return bootstrap(measure, list(measure(np.arange(len(scores)))), len(scores), samples, seed)


def scores_v1(gold: Mapping[str, Sequence[str]], predictions: Mapping[str, str]) -> dict[str, float | int]:
    """Return the SQuAD 1.1 scores: means over questions of the best score with any gold answer.

    The keys are exact_match and f1 (percent, as the official script prints them), total (questions)
    and missing (questions without prediction, which score 0). Predictions for other questions are
    ignored.

    Args:
        gold: gold answers per question, from read_gold_answers.
        predictions: predicted answer per question.

    Raises:
        InputError: a question has no gold answer.
    """
    for qas_id, answers in gold.items():
        if not answers:
            raise InputError(
                f"question {quote(qas_id)} has no right answer to score with; give a file with "
                "answers, or --version_2_with_negative for SQuAD 2.0"
            )
    scores = score_questions(False, gold, predictions).values()
    return {
        "exact_match": _percent(sum(exact for exact, _ in scores), len(gold)),
        "f1": _percent(sum(f1_score for _, f1_score in scores), len(gold)),
        "total": len(gold),
        "missing": _missing(gold, predictions),
    }


def raw_scores(answers: Sequence[str], predicted: str) -> tuple[float, float]:
    """Return a prediction's exact match and F1 under the rules of SQuAD 2.0.

    If there is no gold answer, only an empty prediction is correct.
    """
    # An answer with only articles and punctuation is not an answer.
    answers = [answer for answer in answers if normalize_answer(answer)]
    if not answers or not normalize_answer(predicted):
        both_empty = float(not answers and not normalize_answer(predicted))
        return both_empty, both_empty
    return _best_scores(answers, predicted)


def _best_threshold(
    gold: Mapping[str, Sequence[str]],
    predictions: Mapping[str, str],
    scores: Mapping[str, float],
    null_odds: Mapping[str, float],
) -> tuple[float, float]:
    """Return the best mean score (percent) for any threshold, and the lowest such threshold.

    A question with null odds above the threshold gets no answer, any other question its prediction.
    """
    # Keep equal odds in file order, as the official script does, which also tries thresholds
    # between them.
    answered = [qas_id for qas_id in null_odds if qas_id in gold and qas_id in predictions]
    # Start without any answer; each step through the sorted odds answers one more question.
    current = best = float(sum(not gold[qas_id] for qas_id in answered))  # score if no question is answered
    threshold = 0.0
    for qas_id in sorted(answered, key=null_odds.__getitem__):
        current += scores[qas_id] if gold[qas_id] else -float(predictions[qas_id] != "")
        if current > best:
            best = current
            threshold = null_odds[qas_id]
    return _percent(best, len(gold)), threshold


def scores_v2(
    gold: Mapping[str, Sequence[str]],
    predictions: Mapping[str, str],
    null_odds: Mapping[str, float] | None = None,
) -> dict[str, float | int]:
    """Return the SQuAD 2.0 scores with the official script's names and order, and `missing`.

    exact and f1 are percentages, and total counts questions. If there are such questions, HasAns_*
    covers questions with an answer and NoAns_* questions without. With `null_odds`, best_exact,
    best_exact_thresh, best_f1 and best_f1_thresh show the best possible threshold. The official
    script removes answers with null odds above 1.0; here they stay. A question without prediction
    is missing and scores 0.

    Args:
        gold: gold answers per question, from read_gold_answers.
        predictions: predicted answer per question.
        null_odds: null odds per question, or None.

    Raises:
        InputError: a prediction has no null odds.
    """
    # Keep scores by question for the thresholds below.
    scored = score_questions(True, gold, predictions)
    exact = {qas_id: pair[0] for qas_id, pair in scored.items()}
    f1_scores = {qas_id: pair[1] for qas_id, pair in scored.items()}
    if null_odds is not None:
        without = next((qas_id for qas_id in gold if qas_id in predictions and qas_id not in null_odds), None)
        if without is not None:
            raise InputError(f"question {quote(without)} has a prediction but no null odds; give files of one run")
    result: dict[str, float | int] = {}
    groups = {"": list(gold), "HasAns_": [q for q in gold if gold[q]], "NoAns_": [q for q in gold if not gold[q]]}
    for name, ids in groups.items():
        if ids or not name:
            result[f"{name}exact"] = _percent(sum(exact[qas_id] for qas_id in ids), len(ids))
            result[f"{name}f1"] = _percent(sum(f1_scores[qas_id] for qas_id in ids), len(ids))
            result[f"{name}total"] = len(ids)
    if null_odds is not None:
        for name, scores in (("exact", exact), ("f1", f1_scores)):
            best, best_threshold = _best_threshold(gold, predictions, scores, null_odds)
            result[f"best_{name}"], result[f"best_{name}_thresh"] = best, best_threshold
    result["missing"] = _missing(gold, predictions)
    return result


def score(
    version_2: bool, gold: dict, answers: dict[str, str], null_odds: dict[str, float] | None
) -> dict[str, float | int]:
    """Return exact match and F1 under the rules of SQuAD 1.1, or of 2.0 if `version_2`.

    Args:
        version_2: whether to use the rules of SQuAD 2.0.
        gold: gold answers per question.
        answers: predicted answer per question.
        null_odds: null odds per question, used only for 2.0.
    """
    return scores_v2(gold, answers, null_odds) if version_2 else scores_v1(gold, answers)
