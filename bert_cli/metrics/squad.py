"""Exact match and F1 of answers, as the official scripts of SQuAD 1.1 and 2.0 define them. All
scores are percentages.
"""

import math
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import expect, json_type, read_json
from bert_cli.base.messages import quoted

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalize_answer(text: str) -> str:
    """Lower case, without ASCII punctuation and articles, one space between words."""
    # The order matters: punctuation goes before articles, so "a." is an article too.
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(predicted: str, gold: str) -> float:
    """1 where both answers are the same after normalize_answer, else 0."""
    return float(normalize_answer(predicted) == normalize_answer(gold))


def f1(predicted: str, gold: str) -> float:
    """Harmonic mean of precision and recall over the words of both answers after normalize_answer,
    0 to 1.

    Where an answer has no words it is 0, whatever the other is.
    """
    predicted_words = normalize_answer(predicted).split()
    gold_words = normalize_answer(gold).split()
    common = sum((Counter(predicted_words) & Counter(gold_words)).values())
    # Before the division: an answer without words has no precision.
    if not common:
        return 0.0
    precision, recall = common / len(predicted_words), common / len(gold_words)
    return 2 * precision * recall / (precision + recall)


def read_predictions(path: str) -> dict[str, str]:
    """A file {id: answer}. InputError for another layout."""
    advice = 'predictions are {"question id": "answer"}, as in predictions.json'
    found = expect(read_json(path), dict, path, advice)
    return {qas_id: expect(text, str, f"{path}: {quoted(qas_id)}", advice) for qas_id, text in found.items()}


def read_null_odds(path: str) -> dict[str, float]:
    """A file {id: null odds}. InputError for another layout, and for a value that is not a finite
    number.
    """
    advice = 'null odds are {"question id": number}, as in null_odds.json'
    found = expect(read_json(path), dict, path, advice)
    for qas_id, value in found.items():
        if type(value) not in (int, float):
            raise InputError(f"{path}: {quoted(qas_id)}: is {json_type(value)}, a number is needed; {advice}")
        if not math.isfinite(value):
            raise InputError(f"{path}: {quoted(qas_id)}: {value} is not a finite number; {advice}")
    return found


def _percent(total: float, count: int) -> float:
    return 100.0 * total / count if count else 0.0


def _best_scores(answers: Sequence[str], predicted: str) -> tuple[float, float]:
    """The best exact match and the best F1 of a prediction with any of the right answers."""
    return max(exact_match(predicted, each) for each in answers), max(f1(predicted, each) for each in answers)


def _missing(gold: Mapping[str, Sequence[str]], predictions: Mapping[str, str]) -> int:
    """The questions without prediction."""
    return sum(qas_id not in predictions for qas_id in gold)


def scores_v1(gold: Mapping[str, Sequence[str]], predictions: Mapping[str, str]) -> dict[str, float | int]:
    """Scores of SQuAD 1.1: of each question the best over its right answers, then the mean over all
    questions.

    `gold` is what read_gold_answers gives. Keys: exact_match and f1 (percent, as the official
    script prints them), total (questions) and missing (those without a prediction, which score 0).
    Other predictions do not matter. InputError where a question has no right answer.
    """
    exact = total_f1 = 0.0
    for qas_id, answers in gold.items():
        if not answers:
            raise InputError(
                f"question {quoted(qas_id)} has no right answer to score with; give a file with "
                "answers, or --version_2_with_negative for SQuAD 2.0"
            )
        if qas_id in predictions:
            best = _best_scores(answers, predictions[qas_id])
            exact += best[0]
            total_f1 += best[1]
    return {
        "exact_match": _percent(exact, len(gold)),
        "f1": _percent(total_f1, len(gold)),
        "total": len(gold),
        "missing": _missing(gold, predictions),
    }


def raw_scores(answers: Sequence[str], predicted: str) -> tuple[float, float]:
    """Exact match and F1 of one prediction under the rules of 2.0: no answer is right where no
    answer is.
    """
    # An answer of nothing but articles and punctuation is none.
    answers = [answer for answer in answers if normalize_answer(answer)]
    if not answers or not normalize_answer(predicted):
        nothing = float(not answers and not normalize_answer(predicted))
        return nothing, nothing
    return _best_scores(answers, predicted)


def _best_threshold(
    gold: Mapping[str, Sequence[str]],
    predictions: Mapping[str, str],
    scores: Mapping[str, float],
    null_odds: Mapping[str, float],
) -> tuple[float, float]:
    """The best mean score (percent) that a threshold on the null odds could give, and the lowest
    such threshold.

    A question with null odds above the threshold gets no answer, any other its prediction.
    """
    # Equal odds stay in the order of their file, as in the official script, which looks at
    # thresholds between them too.
    answered = [qas_id for qas_id in null_odds if qas_id in gold and qas_id in predictions]
    # Starts with no question answered; each step down the sorted odds answers one more.
    current = best = float(sum(not gold[qas_id] for qas_id in answered))  # all get no answer
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
    """Scores of SQuAD 2.0, under the names that the official script prints, in its order, and
    `missing`.

    `gold` is what read_gold_answers gives. exact, f1 (percent) and total (questions); HasAns_* of
    the questions with an answer and NoAns_* of those without, where there are such. With
    `null_odds` also best_exact, best_exact_thresh, best_f1, best_f1_thresh: the best that a
    threshold on the odds could give; the answers of questions above 1.0, which the official script
    takes away, stay. A question without prediction is missing and scores 0. InputError for a
    prediction without null odds.
    """
    # Kept by question, as the thresholds below need each of them.
    exact, f1_scores = {}, {}
    for qas_id, answers in gold.items():
        found = raw_scores(answers, predictions[qas_id]) if qas_id in predictions else (0.0, 0.0)
        exact[qas_id], f1_scores[qas_id] = found
    if null_odds is not None:
        without = next((qas_id for qas_id in gold if qas_id in predictions and qas_id not in null_odds), None)
        if without is not None:
            raise InputError(f"question {quoted(without)} has a prediction but no null odds; give files of one run")
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
    """Exact match and F1 under the rules of SQuAD 1.1 or, with version_2, of 2.0."""
    return scores_v2(gold, answers, null_odds) if version_2 else scores_v1(gold, answers)
