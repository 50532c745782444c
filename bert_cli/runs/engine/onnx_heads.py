"""What stands on an encoder that onnxruntime computes, in NumPy; see runs.engine.onnx_session."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, HEADS, POOLED, SPANS, TAGGER
from bert_cli.problem_types.exclusive import log_softmax
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.settings.groups import WINDOWS


@dataclasses.dataclass(frozen=True)
class OnnxHead:
    """What stands on the encoder: `count` outputs, of a text (base.head_types.CLASSIFIER) or of each of its tokens.

    scope: of its variables. layers, head_input: see onnx.packed.logits_runner. told(logits, batch): the predictions, as the
    model's own in heads/. model: what a checkpoint should be, for error messages.
    """

    kind: str
    count: int
    told: Callable[[np.ndarray, dict[str, np.ndarray]], dict[str, np.ndarray]]
    model: str
    scope: str = ""
    layers: Sequence[int] = (-1,)
    head_input: str = POOLED

    @property
    def reads_pooler(self) -> bool:
        return self.kind == CLASSIFIER and self.head_input == POOLED


def text_head(problem_type: ProblemType, labels: Sequence[str], head_input: str, long_text: str, flag: str) -> OnnxHead:
    """That of a classifier, see heads.classification.BertClassifier. InputError, naming the flag,
    for a model that reads several sequences for one text.
    """
    for wrong, what in (
        (problem_type.has_endings, "a choice of endings"),
        (long_text == WINDOWS, f"--long_text={WINDOWS}"),
    ):
        if wrong:
            raise InputError(f"{flag} is not for {what}; leave it out")

    def told(logits: np.ndarray, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return problem_type.postprocess(logits, batch["label_ids"])

    outputs = problem_type.output_count(labels)
    return OnnxHead(CLASSIFIER, outputs, told, "a fine-tuned classifier", head_input=head_input)


def tag_head(count: int, layers: Sequence[int]) -> OnnxHead:
    """That of heads.tagging.BertTagger."""

    def told(logits: np.ndarray, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"log_probabilities": log_softmax(logits)}

    return OnnxHead(TAGGER, count, told, "a model that bert-tag trained", layers=layers)


def span_head(keep_padding: bool, flag: str) -> OnnxHead:
    """That of heads.squad.BertSpanModel."""
    if keep_padding:
        raise InputError(f"--keep_padding: {flag} computes no padding; leave one of them out")

    def told(logits: np.ndarray, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"start": logits[..., 0], "end": logits[..., 1]}

    return OnnxHead(SPANS, 2, told, "fine-tuned to answer questions", scope=HEADS[SPANS])
