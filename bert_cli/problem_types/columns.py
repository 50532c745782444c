"""Columns of the tables that a problem type fills and outputs.classification writes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Probabilities:
    """float32 [n, names]: in a table a column prob_<name> for each name, in JSON an object."""

    names: Sequence[str]
    rows: np.ndarray


Column = Sequence[str | None] | Sequence[list[str]] | np.ndarray | Probabilities


def number_cells(numbers: np.ndarray) -> list[list[str]]:
    """Every value of a matrix as the shortest decimal that gives the same float32: 0.9987654, 1.234e-05."""
    # str, not repr: since NumPy 2 the repr of a scalar is `np.float32(0.5)`.
    return [[str(value) for value in row] for row in np.asarray(numbers, np.float32)]


def probability_record(names: Sequence[str], probabilities: np.ndarray) -> dict[str, float]:
    """{name: probability}, ready for JSON, each as the shortest decimal that gives the same float32; float32 [names]."""
    # By way of the text: float() of a float32 would show the digits that float64 adds.
    cells = number_cells(probabilities[np.newaxis])[0]
    return {name: float(cell) for name, cell in zip(names, cells, strict=True)}


def significant(value: float) -> float:
    """A number with six significant digits, for JSON."""
    return float(f"{value:.6g}")
