"""The interface of an inference engine: what computes a trained BERT, in place of TensorFlow, on
the CPU.
"""

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.base.head_types import HeadSpec
from bert_cli.model.config import BertConfig

FLOAT32, INT8 = "float32", "int8"
# From a batch of spec.INPUTS, int32 [B, S], to outputs by name. Where attention or masked words are
# asked for, all texts of it have S tokens, and its mask is not read.
Network = Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]
# Of encoder and head: Google's name -> float32.
Tensors = Mapping[str, np.ndarray]


class InferenceEngine(abc.ABC):
    """One engine; it is imported with the flags, and imports what it computes with where it does.

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
    def encoder(
        self, precision: str, tensors: Tensors, config: BertConfig, layers: Sequence[int], attention: bool = False
    ) -> Network:
        """Gives float32 `state_0`, … [B, S, H]: the outputs of these layers, 0 for the embedding, n
        for the n-th Transformer layer. Without layers there is one output, `pooled_output` [B, H].
        With attention also `attention_0`, … [B, N, S, S], the probabilities of each layer.
        """

    @abc.abstractmethod
    def logits(self, precision: str, tensors: Tensors, config: BertConfig, head: HeadSpec) -> Network:
        """Gives float32 `logits`: [B, n] of a head of texts, [B, S, n] of a head of tokens."""

    @abc.abstractmethod
    def masked_words(self, precision: str, tensors: Tensors, config: BertConfig, words: int) -> Network:
        """Gives the pre-trained heads' predictions; int8 is refused before.

        A batch also has `masked`, int64 [M, 2], the rows and positions of masked tokens, and
        `top_k`, int64 [1]. `probabilities` float32 and `candidates` int64 [M, k] are the most
        probable of the first `words` entries of the vocabulary, best first; `next_sentence` float32
        [B, 2] are probabilities, where the tensors have that head.
        """


class Inference(NamedTuple):
    """What was asked for: an engine, one of its precisions, and the flag that asks for it, with its
    value.
    """

    engine: InferenceEngine
    precision: str
    flag: str
