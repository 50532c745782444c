"""What stands on an encoder that onnxruntime computes, in NumPy; see runs.engine.onnx_session."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, SPANS, TAGGER, HeadSpec, TextInput
from bert_cli.problem_types.exclusive import log_softmax
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.settings.groups import WINDOWS


@dataclasses.dataclass(frozen=True)
class OnnxHead:
    """A head and its postprocess(logits, batch): the predictions, as the model's own in heads/.

    model: what a checkpoint should be, for error messages.
    """

    spec: HeadSpec
    postprocess: Callable[[np.ndarray, dict[str, np.ndarray]], dict[str, np.ndarray]]
    model: str


def text_head(
    problem_type: ProblemType, labels: Sequence[str], text_input: TextInput, long_text: str, flag: str
) -> OnnxHead:
    """The head of heads.classification.BertClassifier. InputError, naming the flag, for a model that reads several sequences
    for one text.
    """
    for wrong, what in (
        (problem_type.has_endings, "a choice of endings"),
        (long_text == WINDOWS, f"--long_text={WINDOWS}"),
    ):
        if wrong:
            raise InputError(f"{flag} is not for {what}; leave it out")

    def postprocess(logits: np.ndarray, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return problem_type.postprocess(logits, batch["label_ids"])

    spec = HeadSpec(CLASSIFIER, problem_type.output_count(labels), text_input, activation=problem_type.activation)
    return OnnxHead(spec, postprocess, "a fine-tuned classifier")


def tag_head(count: int, layers: Sequence[int]) -> OnnxHead:
    """The head of heads.tagging.BertTagger."""

    def postprocess(logits: np.ndarray, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"log_probabilities": log_softmax(logits)}

    return OnnxHead(HeadSpec(TAGGER, count, layers=tuple(layers)), postprocess, "a model that bert-tag trained")


def span_head(keep_padding: bool, flag: str) -> OnnxHead:
    """The head of heads.squad.BertSpanModel."""
    if keep_padding:
        raise InputError(f"--keep_padding: {flag} computes no padding; leave one of them out")

    def postprocess(logits: np.ndarray, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"start": logits[..., 0], "end": logits[..., 1]}

    return OnnxHead(HeadSpec(SPANS, 2), postprocess, "fine-tuned to answer questions")
