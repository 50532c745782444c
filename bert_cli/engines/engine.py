"""The interface of an inference engine: what computes a trained BERT, in place of TensorFlow, on
the CPU.
"""

import abc
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.base.head_types import HeadSpec
from bert_cli.model.config import BertConfig
from bert_cli.onnx.session import Runner, RunnerMaker

FLOAT32, INT8 = "float32", "int8"
# Of encoder and head: Google's name -> float32.
Tensors = Mapping[str, np.ndarray]


class InferenceEngine(abc.ABC):
    """One engine; it is imported with the flags, and imports what it computes with where it does.

    It makes runners of the ONNX graphs of onnx.models, for batches of spec.INPUTS, int32 [B, S]. Where
    attention or masked words are asked for, all texts of a batch have S tokens, and its mask is not
    read.

    name         as --engine spells it
    precisions   of matrix products, the one of --precision=auto first
    description  in the help of --engine
    """

    name: str
    precisions: tuple[str, ...]
    description: str

    @abc.abstractmethod
    def versions(self) -> dict[str, str]:
        """For run_report.json: the versions of its packages."""

    @abc.abstractmethod
    def compiler(self, precision: str) -> RunnerMaker:
        """What makes the runner of a graph."""

    def network(self, precision: str) -> type:
        """What builds the graph of this precision, an onnx.models.UnpaddedBert."""
        from bert_cli.onnx.models import FlatBert

        return FlatBert

    def encoder(
        self, precision: str, tensors: Tensors, config: BertConfig, layers: Sequence[int], attention: bool = False
    ) -> Runner:
        """Gives float32 `state_0`, … [B, S, H]: the outputs of these layers, 0 for the embedding, n
        for the n-th Transformer layer. Without layers there is one output, `pooled_output` [B, H].
        With attention also `attention_0`, … [B, N, S, S], the probabilities of each layer.
        """
        from bert_cli.onnx.models import AttentionBert, encoder_runner

        network = AttentionBert if attention else self.network(precision)
        return encoder_runner(network, tensors, config, layers, self.compiler(precision))

    def logits(self, precision: str, tensors: Tensors, config: BertConfig, head: HeadSpec) -> Runner:
        """Gives float32 `logits`: [B, n] of a head of texts, [B, S, n] of a head of tokens."""
        from bert_cli.onnx.models import logits_runner

        return logits_runner(self.network(precision), tensors, config, head, self.compiler(precision))

    def masked_words(self, precision: str, tensors: Tensors, config: BertConfig, words: int) -> Runner:
        """Gives the pre-trained heads' predictions; int8 is refused before.

        A batch also has `masked`, int64 [M, 2], the rows and positions of masked tokens, and
        `top_k`, int64 [1]. `probabilities` float32 and `candidates` int64 [M, k] are the most
        probable of the first `words` entries of the vocabulary, best first; `next_sentence` float32
        [B, 2] are probabilities, where the tensors have that head.
        """
        from bert_cli.onnx.models import masked_words_runner

        return masked_words_runner(tensors, config, words, self.compiler(precision))


class Inference(NamedTuple):
    """What was asked for: an engine, one of its precisions, and the flag that asks for it, with its
    value.
    """

    engine: InferenceEngine
    precision: str
    flag: str
