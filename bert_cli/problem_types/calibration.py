"""calibration.json: the temperatures of a model, and the uncertainty from which on it abstains."""

import dataclasses
import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import read_json_object
from bert_cli.base.messages import listed
from bert_cli.base.names import CALIBRATION
from bert_cli.base.writing import write_json
from bert_cli.metrics.calibration import CONFIDENCE, Abstention

_TEMPERATURE, _ROWS, _ABSTAIN = "temperature", "rows", "abstain"
_ERROR, _CONFIDENCE, _UNCERTAINTY, _ANSWERED = "error", "confidence", "uncertainty", "answered"


@dataclasses.dataclass(frozen=True)
class Calibration:
    """temperatures: what logits are divided by: one number, or one for each label. rows: that they
    were fitted on. error, abstention: of --abstain_error, 0 and None without it.
    """

    temperatures: tuple[float, ...]
    rows: int
    error: float = 0.0
    abstention: Abstention | None = None

    def divide(self, logits: np.ndarray) -> np.ndarray:
        """Logits [n, outputs] divided by the temperatures: float64."""
        return np.asarray(logits, np.float64) / np.array(self.temperatures)

    def facts(self, labels: Sequence[str]) -> dict[str, Any]:
        """For JSON. labels: the names of the temperatures, where there are several."""
        values = self.temperatures
        temperature = dict(zip(labels, values, strict=True)) if labels else values[0]
        facts: dict[str, Any] = {_TEMPERATURE: temperature, _ROWS: self.rows}
        if self.abstention:
            about = {_ERROR: self.error, _CONFIDENCE: CONFIDENCE, _UNCERTAINTY: self.abstention.uncertainty}
            facts[_ABSTAIN] = about | {_ANSWERED: round(self.abstention.answered, 6)}
        return facts


def write_calibration(folder: str, calibration: Calibration, labels: Sequence[str]) -> None:
    """Write calibration.json, whole or not at all; labels: see Calibration.facts."""
    write_json(os.path.join(folder, CALIBRATION), calibration.facts(labels))


def find_calibration(folders: Iterable[str], labels: Sequence[str]) -> Calibration | None:
    """The calibration.json of the first folder that has one. labels: see Calibration.facts.

    InputError where it is damaged or made for other labels.
    """
    paths = (os.path.join(folder, CALIBRATION) for folder in folders)
    path = next((path for path in paths if files.exists(path)), None)
    return _read(path, labels) if path else None


def _read(path: str, labels: Sequence[str]) -> Calibration:
    values = read_json_object(path, "evaluate with --calibrate again")
    given = values.get(_TEMPERATURE)
    known = given if isinstance(given, dict) else {}
    temperatures = [known.get(name) for name in labels] if labels else [given]
    if len(known) != len(labels) or not all(map(_is_positive, temperatures)):
        needed = f"above 0 for each of {listed(labels)}" if labels else "above 0"
        raise InputError(f"{path}: needs a {_TEMPERATURE} {needed}; evaluate with --calibrate again")
    calibration = Calibration(tuple(float(str(each)) for each in temperatures), int(values.get(_ROWS, 0)))
    bound = values.get(_ABSTAIN)
    if bound is None:
        return calibration
    bound = bound if isinstance(bound, dict) else {}
    least = bound.get(_UNCERTAINTY)
    if not (_is_positive(least) or least == 0) or not _is_positive(bound.get(_ERROR)):
        raise InputError(f"{path}: {_ABSTAIN} is {json.dumps(bound)}; evaluate with --calibrate --abstain_error again")
    abstention = Abstention(float(least or 0), float(bound.get(_ANSWERED, 0)))
    return dataclasses.replace(calibration, error=bound[_ERROR], abstention=abstention)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
