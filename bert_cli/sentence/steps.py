"""Modules that change a text's vector after pooling, such as dense layers."""

import dataclasses
import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

_erf = np.vectorize(math.erf, otypes=[np.float32])
# Names of classes in torch.nn -> functions of float32 arrays.
ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Identity": lambda values: values,
    "Tanh": np.tanh,
    "ReLU": lambda values: np.maximum(values, 0),
    "Sigmoid": lambda values: 1 / (1 + np.exp(-values)),
    "GELU": lambda values: values * (1 + _erf(values / np.float32(math.sqrt(2)))) / 2,
    "SiLU": lambda values: values / (1 + np.exp(-values)),
}
LAYER_NORM_EPS = 1e-5  # torch.nn.LayerNorm's default, which this module does not change
SMALLEST_LENGTH = 1e-12  # as in torch.nn.functional.normalize


@dataclasses.dataclass(frozen=True, eq=False)
class Dense:
    """A dense layer.

    Attributes:
        kernel: float32 [in, out].
        bias: float32 [out], or None.
        activation: a key of ACTIVATIONS.
        has_residual: whether the input is added to the output.
        residual_kernel: float32 [in, out] for the input that is added; None to add it unchanged.
    """

    kernel: np.ndarray
    bias: np.ndarray | None
    activation: str
    has_residual: bool = False
    residual_kernel: np.ndarray | None = None

    @property
    def input_width(self) -> int:
        return self.kernel.shape[0]

    @property
    def output_width(self) -> int:
        return self.kernel.shape[1]

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        outputs = vectors @ self.kernel
        if self.bias is not None:
            outputs = outputs + self.bias
        outputs = ACTIVATIONS[self.activation](outputs)
        if self.has_residual:
            outputs = outputs + (vectors if self.residual_kernel is None else vectors @ self.residual_kernel)
        return outputs.astype(np.float32)

    def __str__(self) -> str:
        activation = "" if self.activation == "Identity" else f" with {self.activation}"
        return f"a dense layer from {self.input_width} to {self.output_width} numbers{activation}"


@dataclasses.dataclass(frozen=True, eq=False)
class LayerNorm:
    """A layer normalization.

    Attributes:
        gamma: float32 [W].
        beta: float32 [W].
    """

    gamma: np.ndarray
    beta: np.ndarray

    @property
    def input_width(self) -> int:
        return len(self.gamma)

    @property
    def output_width(self) -> int:
        return len(self.gamma)

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        centered = vectors - vectors.mean(axis=-1, keepdims=True)
        variance = np.square(centered).mean(axis=-1, keepdims=True)
        return (centered / np.sqrt(variance + np.float32(LAYER_NORM_EPS)) * self.gamma + self.beta).astype(np.float32)

    def __str__(self) -> str:
        return "layer normalization"


@dataclasses.dataclass(frozen=True)
class Normalize:
    """A division of each vector by its length."""

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        lengths = np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True))
        return vectors / np.maximum(lengths, np.float32(SMALLEST_LENGTH))

    def __str__(self) -> str:
        return "length 1"


@dataclasses.dataclass(frozen=True)
class Truncate:
    """A vector's first numbers.

    Attributes:
        output_width: how many of them.
    """

    output_width: int

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        return vectors[..., : self.output_width]

    def __str__(self) -> str:
        return f"the first {self.output_width} numbers"


Step: TypeAlias = "Dense | LayerNorm | Normalize | Truncate"


def with_normalize(steps: tuple[Step, ...], normalizes: bool) -> tuple[Step, ...]:
    """Return the steps with a normalization at their end, or without any."""
    if not normalizes:
        return tuple(step for step in steps if not isinstance(step, Normalize))
    return steps if steps and isinstance(steps[-1], Normalize) else (*steps, Normalize())


def final_width(steps: tuple[Step, ...], width: int) -> int:
    """Return the number of numbers in a vector after these steps.

    Args:
        width: numbers before the first step.
    """
    for step in steps:
        if isinstance(step, Truncate):
            width = min(width, step.output_width)
        elif not isinstance(step, Normalize):
            width = step.output_width
    return width


def apply_steps(steps: tuple[Step, ...], vectors: np.ndarray) -> np.ndarray:
    """Return vectors after these steps, float32 [..., W]."""
    for step in steps:
        vectors = step(vectors)
    return vectors
