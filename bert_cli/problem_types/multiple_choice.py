"""Multiple choice: the correct choice of several; examples.choice reads its labels."""

from collections.abc import Sequence

import numpy as np

from bert_cli.base.head_types import CHOICE
from bert_cli.problem_types.exclusive import ExclusiveColumns, ExclusiveDecoder, ExclusiveMetrics
from bert_cli.problem_types.parts import LabelReader
from bert_cli.problem_types.problem_type import ProblemType


class ChoiceReader(LabelReader):
    """Reader of choice indices; label_ids int32 [n].

    A choice's index is not a class: a model with one output serves any number of choices. So there
    are no label names, class weights or suspected label errors.
    """

    has_names = False
    class_weights_refusal = "is about labels, and the endings of a choice are none"

    def label_array(self, row_labels: Sequence[int | None], labels: Sequence[str]) -> np.ndarray:
        return np.array([0 if label is None else label for label in row_labels], np.int32)


class ChoiceDecoder(ExclusiveDecoder):
    """Decoder of a softmax over choices."""

    distillation_refusal = "learns the probabilities of labels, which multiple choice does not have"


_DECODER = ChoiceDecoder()
MULTIPLE_CHOICE = ProblemType(
    "multiple_choice",
    "multiple choice, one of --choice_columns",
    ChoiceReader(),
    _DECODER,
    ExclusiveMetrics(),
    ExclusiveColumns(_DECODER),
    head_type=CHOICE,
    has_choices=True,
)
