"""Entity scores, counted as by conlleval from the CoNLL-2000 and 2003 shared tasks.

An entity is correct if its first word, last word and type are. Precision, recall and F1 are
percentages.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from bert_cli.metrics.bootstrap import Intervals, bootstrap

_RATIOS = ("eval_f1", "eval_precision", "eval_recall")
# A sentence's entities from examples.tag_schemes.entities: (type, first word, word after the last).
Entities = Sequence[tuple[str, int, int]]


@dataclass(frozen=True)
class EntityCounts:
    """Number of gold entities, predicted entities and entities in both.

    A ratio of 0 / 0 is 0, as in conlleval.
    """

    gold: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        return 100.0 * self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return 100.0 * self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        total = self.gold + self.predicted
        return 200.0 * self.correct / total if total else 0.0


@dataclass(frozen=True)
class TaggingScores:
    """Counts of words and entities.

    Attributes:
        words: number of words.
        correct_words: number of words with the correct tag.
        overall: counts for all entities.
        types: counts per entity type, sorted by code points.
    """

    words: int
    correct_words: int
    overall: EntityCounts
    types: dict[str, EntityCounts]

    @property
    def accuracy(self) -> float:
        """Return the percentage of words with the correct tag."""
        return 100.0 * self.correct_words / self.words if self.words else 0.0


def tagging_scores(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    gold_entities: Sequence[Entities],
    predicted_entities: Sequence[Entities],
) -> TaggingScores:
    """Compare tags and entities of sentences, and count as conlleval does.

    conlleval also counts -DOCSTART- lines as words; here they are not in any sentence.

    Args:
        gold: tags in the data, per sentence.
        predicted: predicted tags.
        gold_entities: entities in the data.

    Raises:
        ValueError: the numbers of sentences or words differ.
    """
    words = correct_words = 0
    gold_counts: Counter[str] = Counter()
    predicted_counts: Counter[str] = Counter()
    correct_counts: Counter[str] = Counter()
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        words += len(gold_tags)
        correct_words += sum(a == b for a, b in zip(gold_tags, predicted_tags, strict=True))
    for gold_spans, predicted_spans in zip(gold_entities, predicted_entities, strict=True):
        gold_counts.update(entity_type for entity_type, _, _ in gold_spans)
        predicted_counts.update(entity_type for entity_type, _, _ in predicted_spans)
        # A sentence's entities never start at the same word, so a set loses none of them.
        correct_counts.update(entity_type for entity_type, _, _ in set(gold_spans) & set(predicted_spans))
    counters = (gold_counts, predicted_counts, correct_counts)
    types = {
        name: EntityCounts(*(counter[name] for counter in counters)) for name in sorted(gold_counts | predicted_counts)
    }
    return TaggingScores(
        words, correct_words, EntityCounts(gold_counts.total(), predicted_counts.total(), correct_counts.total()), types
    )


def format_scores(scores: TaggingScores) -> list[str]:
    """Return log lines in conlleval's layout, with the number of gold entities after each type.

    conlleval prints only the number of predicted entities there. Entities without type (only tags
    B, I and O) are only in the overall line.
    """
    overall = scores.overall
    width = max([17, *map(len, scores.types)])

    def ratios(counts: EntityCounts) -> str:
        return f"precision: {counts.precision:6.2f}%; recall: {counts.recall:6.2f}%; FB1: {counts.f1:6.2f}"

    return [
        f"processed {scores.words} tokens with {overall.gold} phrases; "
        f"found: {overall.predicted} phrases; correct: {overall.correct}.",
        f"accuracy: {scores.accuracy:6.2f}%; {ratios(overall)}",
        *(
            f"{entity_type:>{width}}: {ratios(counts)}  {counts.predicted} of {counts.gold}"
            for entity_type, counts in scores.types.items()
            if entity_type
        ),
    ]


def eval_results(scores: TaggingScores) -> dict[str, float | int]:
    """Return the entries for eval_results.txt, ratios as percentages with six decimals.

    The keys are eval_accuracy, eval_precision, eval_recall, eval_f1, eval_words, eval_entities (in
    the data), eval_predicted_entities and eval_correct_entities. Each type x has eval_precision_x,
    eval_recall_x, eval_f1_x and eval_entities_x.
    """
    overall = scores.overall
    results: dict[str, float | int] = {
        "eval_accuracy": round(scores.accuracy, 6),
        "eval_words": scores.words,
        "eval_predicted_entities": overall.predicted,
        "eval_correct_entities": overall.correct,
    }
    by_suffix = {"": overall} | {f"_{name}": counts for name, counts in scores.types.items() if name}
    for suffix, counts in by_suffix.items():
        results[f"eval_precision{suffix}"] = round(counts.precision, 6)
        results[f"eval_recall{suffix}"] = round(counts.recall, 6)
        results[f"eval_f1{suffix}"] = round(counts.f1, 6)
        results[f"eval_entities{suffix}"] = counts.gold
    return results


def bootstrap_scores(sentences: Sequence[TaggingScores], samples: int, seed: int) -> Intervals:
    """Return confidence intervals for the ratios in eval_results.

    A sample without an entity of a type does not define the type's ratios.

    Args:
        sentences: scores per sentence, see tagging_scores.
        samples: number of samples of the sentences.
        seed: their seed.
    """
    types = sorted({name for scores in sentences for name in scores.types})
    nothing = EntityCounts(0, 0, 0)
    words = np.array([(scores.words, scores.correct_words) for scores in sentences])
    by_sentence = [[scores.overall, *(scores.types.get(name, nothing) for name in types)] for scores in sentences]
    counts = np.array([[astuple(part) for part in parts] for parts in by_sentence])

    def measure(rows: np.ndarray) -> dict[str, float]:
        overall, *others = (EntityCounts(*part) for part in counts[rows].sum(axis=0).tolist())
        by_type = {name: part for name, part in zip(types, others, strict=True) if part.gold}
        num_words, num_correct = words[rows].sum(axis=0).tolist()
        results = eval_results(TaggingScores(num_words, num_correct, overall, by_type))
        return {name: value for name, value in results.items() if isinstance(value, float)}

    count = len(sentences)
    return bootstrap(measure, list(measure(np.arange(count))), count, samples, seed)


def known_results(labels: Sequence[str]) -> tuple[str, ...]:
    """Return the eval_results keys that can rank evaluations, F1 first, given the BIO labels."""
    # Derive the keys from labels: the flag is checked before there is an evaluation.
    names = [f"{ratio}_{entity_type}" for entity_type in _types_of(labels) for ratio in _RATIOS]
    return (*_RATIOS, "eval_accuracy", *names)


def undefined_results(labels: Sequence[str], present_types: Collection[str]) -> dict[str, str]:
    """Return the keys of known_results that are 0 for all predictions: name -> reason.

    Args:
        labels: the model's BIO labels.
        present_types: types of the entities in the evaluated data.
    """
    reasons = {} if present_types else dict.fromkeys(_RATIOS, "the evaluated data has no entity")
    absent_types = [entity_type for entity_type in _types_of(labels) if entity_type not in present_types]
    return reasons | {
        f"{ratio}_{entity_type}": f"no entity of the evaluated data is {entity_type}"
        for entity_type in absent_types
        for ratio in _RATIOS
    }


def _types_of(labels: Sequence[str]) -> list[str]:
    return sorted({label.partition("-")[2] for label in labels} - {""})
