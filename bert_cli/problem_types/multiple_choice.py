"""Multiple choice: one of K endings of a context is right. A logit for each ending, softmax over the endings."""

from collections.abc import Sequence

import numpy as np

from bert_cli.base.head_types import CHOICE
from bert_cli.metrics.classification import LOSSES, choice_metrics
from bert_cli.problem_types.exclusive import Exclusive
from bert_cli.problem_types.problem_type import Found, LabelSet, Scores


class MultipleChoice(Exclusive):
    """Labels are indices of endings; label_ids int32 [n].

    The index of an ending is no class: a model with one output serves any number of endings. So there are no label names, no
    class weights and no suspected label errors, and examples.choice reads the labels.
    """

    name = "multiple_choice"
    summary = "the right one of --choice_columns"
    metrics = ("eval_accuracy", *LOSSES)
    head_type = CHOICE
    has_endings = True
    distillation_refusal = "learns the probabilities of labels, which multiple choice does not have"
    class_weights_refusal = "is about labels, and the endings of a choice are none"

    def output_names(self, found: Found, labels: LabelSet) -> Sequence[str]:
        return [str(ending) for ending in range(found["probabilities"].shape[1])]

    def label_array(self, given: Sequence[int | None], labels: Sequence[str]) -> np.ndarray:
        return np.array([0 if label is None else label for label in given], np.int32)

    def decisions(self, found: Found, labels: LabelSet) -> list[int]:
        """The index of the most probable ending, of equal ones the first."""
        return found["probabilities"].argmax(axis=1).tolist()

    def evaluate(self, label_ids: np.ndarray, found: Found, labels: LabelSet, batch_size: int) -> Scores:
        return Scores(choice_metrics(label_ids, found["losses"], found["probabilities"], batch_size), {}, [])


MULTIPLE_CHOICE = MultipleChoice()
