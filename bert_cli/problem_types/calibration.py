"""Reader and writer of calibration.json: a model's temperatures and its abstention threshold."""

import dataclasses
import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.base.json_files import JsonObject, read_json_object
from bert_cli.base.names import CALIBRATION
from bert_cli.base.writing import write_json
from bert_cli.metrics.calibration import CONFIDENCE, Abstention

_TEMPERATURE, _ROWS, _ABSTAIN = "temperature", "rows", "abstain"
_ERROR, _CONFIDENCE, _UNCERTAINTY, _ANSWERED = "error", "confidence", "uncertainty", "answered"


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Temperatures for a model's logits, and the abstention threshold.

    Attributes:
        temperatures: logit divisors, either a single one or one per label.
        rows: number of rows that the temperatures were fitted on.
        error: value of --abstain_error, 0 without it.
        abstention: threshold for --abstain_error, None without it.
    """

    temperatures: tuple[float, ...]
    rows: int
    error: float = 0.0
    abstention: Abstention | None = None

    def divide(self, logits: np.ndarray) -> np.ndarray:
        """Return logits [n, outputs] divided by the temperatures, as float64."""
        return np.asarray(logits, np.float64) / np.array(self.temperatures)

    def facts(self, labels: Sequence[str]) -> JsonObject:
        """Return the calibration as a dict for JSON.

        Args:
            labels: label of each temperature, empty if all logits share one temperature.
        """
        values = self.temperatures
        temperature = dict(zip(labels, values, strict=True)) if labels else values[0]
        facts: JsonObject = {_TEMPERATURE: temperature, _ROWS: self.rows}
        if self.abstention:
            limit = {_ERROR: self.error, _CONFIDENCE: CONFIDENCE, _UNCERTAINTY: self.abstention.uncertainty}
            facts[_ABSTAIN] = limit | {_ANSWERED: round(self.abstention.answered, 6)}
        return facts


def write_calibration(folder: str, calibration: Calibration, labels: Sequence[str]) -> None:
    """Write `calibration` as calibration.json into `folder`, whole or not at all.

    `labels` are as in Calibration.facts.
    """
    write_json(os.path.join(folder, CALIBRATION), calibration.facts(labels))


def find_calibration(folders: Iterable[str], labels: Sequence[str]) -> Calibration | None:
    """Return the first calibration.json in these directories, None if there is no such file.

    Args:
        folders: directories to search, in this order.
        labels: see Calibration.facts.

    Raises:
        InputError: the file is damaged, or was made for other labels.
    """
    paths = (os.path.join(folder, CALIBRATION) for folder in folders)
    path = next((path for path in paths if files.exists(path)), None)
    return _read(path, labels) if path else None


def _read(path: str, labels: Sequence[str]) -> Calibration:
    values = read_json_object(path, "evaluate with --calibrate again")
    stored = values.get(_TEMPERATURE)
    by_label = stored if isinstance(stored, dict) else {}
    temperatures = [by_label.get(name) for name in labels] if labels else [stored]
    if len(by_label) != len(labels) or not all(map(_is_positive, temperatures)):
        needed = f"above 0 for each of {list_names(labels)}" if labels else "above 0"
        raise InputError(f"{path}: needs a {_TEMPERATURE} {needed}; evaluate with --calibrate again")
    calibration = Calibration(tuple(float(str(temperature)) for temperature in temperatures), int(values.get(_ROWS, 0)))
    limit = values.get(_ABSTAIN)
    if limit is None:
        return calibration
    limit = limit if isinstance(limit, dict) else {}
    uncertainty = limit.get(_UNCERTAINTY)
    if not (_is_positive(uncertainty) or uncertainty == 0) or not _is_positive(limit.get(_ERROR)):
        raise InputError(f"{path}: {_ABSTAIN} is {json.dumps(limit)}; evaluate with --calibrate --abstain_error again")
    abstention = Abstention(float(uncertainty or 0), float(limit.get(_ANSWERED, 0)))
    return dataclasses.replace(calibration, error=limit[_ERROR], abstention=abstention)


def _is_positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
