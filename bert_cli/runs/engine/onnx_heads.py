"""What stands on an encoder that onnxruntime computes, in NumPy; see runs.engine.onnx_session."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, HEADS, MULTI_LABEL, MULTIPLE_CHOICE, POOLED, REGRESSION, SPANS, TAGGER
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


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    """Over the last axis, float32."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def text_head(problem_type: str, count: int, head_input: str, long_text: str, flag: str) -> OnnxHead:
    """That of a classifier, see heads.classification.BertClassifier. count: of its labels. InputError, naming the flag,
    for a model that reads several sequences for one text.
    """
    for wrong, what in (
        (problem_type == MULTIPLE_CHOICE, "a choice of endings"),
        (long_text == WINDOWS, f"--long_text={WINDOWS}"),
    ):
        if wrong:
            raise InputError(f"{flag} is not for {what}; leave it out")

    def told(logits: np.ndarray, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        labels = batch["label_ids"]
        if problem_type == REGRESSION:
            return {"values": logits[:, 0], "losses": (logits[:, 0] - labels) ** 2}
        if problem_type == MULTI_LABEL:
            # log(1 + e^x) − x · y, without a large power
            losses = np.maximum(logits, 0) - logits * labels + np.log1p(np.exp(-np.abs(logits)))
            return {"probabilities": np.exp(-np.logaddexp(0, -logits)), "losses": losses.mean(axis=-1)}
        logs = _log_softmax(logits)
        return {"probabilities": np.exp(logs), "losses": -logs[np.arange(len(labels)), labels]}

    outputs = 1 if problem_type == REGRESSION else count
    return OnnxHead(CLASSIFIER, outputs, told, "a fine-tuned classifier", head_input=head_input)


def tag_head(count: int, layers: Sequence[int]) -> OnnxHead:
    """That of heads.tagging.BertTagger."""

    def told(logits: np.ndarray, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"log_probabilities": _log_softmax(logits)}

    return OnnxHead(TAGGER, count, told, "a model that bert-tag trained", layers=layers)


def span_head(keep_padding: bool, flag: str) -> OnnxHead:
    """That of heads.squad.BertSpanModel."""
    if keep_padding:
        raise InputError(f"--keep_padding: {flag} computes no padding; leave one of them out")

    def told(logits: np.ndarray, batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"start": logits[..., 0], "end": logits[..., 1]}

    return OnnxHead(SPANS, 2, told, "fine-tuned to answer questions", scope=HEADS[SPANS])
