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
# From a batch of spec.INPUTS, int32 [B, S], to outputs by name. All texts of it have S tokens, so
# its mask is not read.
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
    def check_installed(self, flag: str) -> None:
        """InputError, naming the flag that asks for the engine, where a package is missing."""

    @abc.abstractmethod
    def versions(self) -> dict[str, str]:
        """For run_report.json: the versions of its packages."""

    @abc.abstractmethod
    def encoder(self, precision: str, tensors: Tensors, config: BertConfig, layers: Sequence[int]) -> Network:
        """Gives float32 `state_0`, … [B, S, H]: the outputs of these layers, 0 for the embedding, n
        for the n-th Transformer layer. Without layers there is one output, `pooled_output` [B, H].
        """

    @abc.abstractmethod
    def logits(self, precision: str, tensors: Tensors, config: BertConfig, head: HeadSpec) -> Network:
        """Gives float32 `logits`: [B, n] of a head of texts, [B, S, n] of a head of tokens."""


class Inference(NamedTuple):
    """What was asked for: an engine, one of its precisions, and the flag that asks for it, with its
    value.
    """

    engine: InferenceEngine
    precision: str
    flag: str
