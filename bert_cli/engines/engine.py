"""The interface of an inference engine, which computes a trained BERT on the CPU."""

import abc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bert_cli.base.head_types import HeadSpec
from bert_cli.model.config import BertConfig
from bert_cli.onnx.session import Runner, RunnerMaker

if TYPE_CHECKING:
    from bert_cli.onnx.bert import Form

FLOAT32, INT8 = "float32", "int8"
# Tensors of encoder and head: Google's name -> float32.
Tensors = Mapping[str, np.ndarray]


class InferenceEngine(abc.ABC):
    """One engine, which imports its package only when it computes.

    It makes runners for the ONNX graphs in onnx.models. Their batches are spec.INPUTS, int32
    [B, S]. For attention and masked words, all texts in a batch have S tokens, and the mask is not
    used.

    Attributes:
        name: spelling in --engine.
        precisions: precisions of matrix products; --precision=auto uses the first.
        description: text in the help of --engine.
    """

    name: str
    precisions: tuple[str, ...]
    description: str

    @abc.abstractmethod
    def versions(self) -> dict[str, str]:
        """Return the versions of the engine's packages for run_report.json."""

    @abc.abstractmethod
    def compiler(self, precision: str) -> RunnerMaker:
        """Return the function that makes a graph's runner."""

    def form(self, precision: str) -> "Form":
        """Return the form of graphs with this precision."""
        from bert_cli.onnx.bert import FLAT

        return FLAT

    def encoder(
        self, precision: str, tensors: Tensors, config: BertConfig, layers: Sequence[int], attention: bool = False
    ) -> Runner:
        """Return a runner for the encoder with float32 outputs.

        The outputs are `state_0`, … [B, S, H], one per layer. If there are no layers, there is one
        output, `pooled_output` [B, H].

        Args:
            precision: precision to use.
            tensors: the encoder's tensors.
            config: the model's configuration.
            layers: layers to return, 0 for the embedding and n for the n-th Transformer layer.
            attention: whether to return attention probabilities, too: `attention_0`, …
                [B, N, S, S].
        """
        from bert_cli.onnx.bert import WITH_ATTENTION
        from bert_cli.onnx.models import encoder_runner

        form = WITH_ATTENTION if attention else self.form(precision)
        return encoder_runner(form, tensors, config, layers, self.compiler(precision))

    def logits(self, precision: str, tensors: Tensors, config: BertConfig, head: HeadSpec) -> Runner:
        """Return a runner with the float32 output `logits`.

        Args:
            precision: precision to use.
            tensors: tensors of encoder and head.
            config: the model's configuration.
            head: the head. Text heads have logits [B, n], and token heads [B, S, n].
        """
        from bert_cli.onnx.models import logits_runner

        return logits_runner(self.form(precision), tensors, config, head, self.compiler(precision))

    def masked_words(self, precision: str, tensors: Tensors, config: BertConfig, words: int) -> Runner:
        """Return a runner for the pre-trained heads; int8 is refused earlier.

        A batch also has `masked`, int64 [M, 2], the rows and positions of masked tokens, and
        `top_k`, int64 [1]. The outputs are `probabilities` float32 [M, k] and `candidates` int64
        [M, k], best first. If the tensors have the next-sentence head, `next_sentence` float32
        [B, 2] has its probabilities.

        Args:
            precision: precision to use.
            tensors: tensors of encoder and heads.
            config: the model's configuration.
            words: number of vocabulary entries that can be candidates.
        """
        from bert_cli.onnx.models import masked_words_runner

        return masked_words_runner(tensors, config, words, self.compiler(precision))


class Inference(NamedTuple):
    """An engine and precision chosen with flags, and the flag (with its value) that chose them."""

    engine: InferenceEngine
    precision: str
    flag: str
