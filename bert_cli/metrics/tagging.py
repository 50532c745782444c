"""Scores of entities as the evaluation script of the CoNLL-2000 and 2003 shared tasks (conlleval)
counts them.

An entity is right where its first word, last word and type are. Precision, recall and F1 are in per
cent.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# The entities of a sentence: (type, first word, word after the last), as
# examples.tag_schemes.entities extracts them.
Entities = Sequence[tuple[str, int, int]]


@dataclass(frozen=True)
class EntityCounts:
    """Entities in the data (`gold`), in the predictions, and those in both. A ratio of 0 / 0 is 0,
    as in conlleval.
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
    """Words, those with the right tag, entities of all types, and of each type (in the order of
    code points).
    """

    words: int
    correct_words: int
    overall: EntityCounts
    types: dict[str, EntityCounts]

    @property
    def accuracy(self) -> float:
        """Per cent of the words with equal tags."""
        return 100.0 * self.correct_words / self.words if self.words else 0.0


def tagging_scores(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    gold_entities: Sequence[Entities],
    predicted_entities: Sequence[Entities],
) -> TaggingScores:
    """Compare the tags and the entities of sentences. ValueError where their numbers differ.

    Counts as conlleval does. conlleval counts -DOCSTART- lines as words; here they are in no
    sentence.
    """
    words = correct_words = 0
    wanted: Counter[str] = Counter()
    found: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        words += len(gold_tags)
        correct_words += sum(a == b for a, b in zip(gold_tags, predicted_tags, strict=True))
    for own, other in zip(gold_entities, predicted_entities, strict=True):
        wanted.update(entity_type for entity_type, _, _ in own)
        found.update(entity_type for entity_type, _, _ in other)
        # Entities of one sentence never start at the same word, so a set loses none.
        right.update(entity_type for entity_type, _, _ in set(own) & set(other))
    counters = (wanted, found, right)
    types = {name: EntityCounts(*(counter[name] for counter in counters)) for name in sorted(wanted | found)}
    return TaggingScores(words, correct_words, EntityCounts(wanted.total(), found.total(), right.total()), types)


def format_scores(scores: TaggingScores) -> list[str]:
    """Lines for the log, laid out as by conlleval; after a type the number of predicted entities
    and, new, of entities in the data.

    Entities without type (tags B, I and O alone) are only in the overall line.
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
    """Entries for eval_results.txt; ratios in per cent, rounded to six decimals.

    eval_accuracy, eval_precision, eval_recall, eval_f1; eval_words, eval_entities (in the data),
    eval_predicted_entities, eval_correct_entities; and for each type x eval_precision_x,
    eval_recall_x, eval_f1_x, eval_entities_x.
    """
    overall = scores.overall
    results: dict[str, float | int] = {
        "eval_accuracy": round(scores.accuracy, 6),
        "eval_words": scores.words,
        "eval_predicted_entities": overall.predicted,
        "eval_correct_entities": overall.correct,
    }
    by_ending = {"": overall} | {f"_{name}": counts for name, counts in scores.types.items() if name}
    for ending, counts in by_ending.items():
        results[f"eval_precision{ending}"] = round(counts.precision, 6)
        results[f"eval_recall{ending}"] = round(counts.recall, 6)
        results[f"eval_f1{ending}"] = round(counts.f1, 6)
        results[f"eval_entities{ending}"] = counts.gold
    return results


def known_results(labels: Sequence[str]) -> tuple[str, ...]:
    """The keys of eval_results by which one evaluation can be better than another, F1 first;
    labels: BIO.
    """
    # From the labels, not from an evaluation: the flag is checked before there is one.
    entity_types = sorted({label.partition("-")[2] for label in labels} - {""})
    names = ("eval_f1", "eval_precision", "eval_recall")
    return (*names, "eval_accuracy", *(f"{name}_{entity_type}" for entity_type in entity_types for name in names))
