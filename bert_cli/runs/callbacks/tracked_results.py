"""Numbers, tags and files that trackers send, with their names there."""

import math
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from bert_cli.base import files, names
from bert_cli.weights.path import model_folder
from bert_cli.weights.training_folder import latest_checkpoint

_TRAINING = {
    "loss": "train_loss",
    "learning_rate": "learning_rate",
    "examples_per_second": "train_examples_per_second",
}
# Numbers of run_report.json.
_FIGURES = (
    "global_step", "last_step", "first_loss", "last_loss", "train_seconds", "total_seconds",
    "train_examples_per_second", "eval_examples_per_second", "peak_memory_bytes", "peak_device_memory_bytes",
)  # fmt: skip
_TAGS = (names.TRAIN_DATA, names.EVAL_DATA, "git_commit", "host", "devices", "precision")
_RESULTS = (
    names.PAGE, names.REPORT, names.MANIFEST, names.FLAGS, names.HISTORY, names.EVAL_RESULTS, names.BEST_FILE,
    names.RUNS_TABLE, names.GRID_TABLE, names.FOLDS_TABLE,
)  # fmt: skip
_MODEL = (
    names.MANIFEST, names.FLAGS, names.CONFIG, names.VOCABULARY, names.LABELS, names.TOKENIZER_CONFIG,
    names.THRESHOLDS, names.CALIBRATION,
)  # fmt: skip
_OTHER_CHARACTERS = re.compile(r"[^\w.\- /]")  # MLflow refuses them in names


def training_numbers(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Return a training line's numbers by the names that trackers use, such as train_loss."""
    return {new: metrics[old] for old, new in _TRAINING.items() if old in metrics}


def evaluation_numbers(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return an evaluation's metrics; `loss` is eval_loss, unless there is another one."""
    numbers = {name: value for name, value in metrics.items() if name not in ("loss", "global_step")}
    if "loss" in metrics:
        numbers.setdefault("eval_loss", metrics["loss"])
    return {_clean(name): value for name, value in numbers.items()}


def _clean(name: str) -> str:
    return _OTHER_CHARACTERS.sub("_", name)


def final_numbers(report: Mapping[str, Any]) -> dict[str, float]:
    """Return a report's final figures, such as final_eval_accuracy, and the baselines' metrics."""
    return {_clean(name): value for name, value in _figures(report) if _is_number(value)}


def _figures(report: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in _FIGURES:
        yield f"final_{name}", report.get(name)
    metrics = {name: value for name, value in report.get("eval", {}).items() if _is_number(value)}
    for name, value in evaluation_numbers(metrics).items():
        yield f"final_{name}", value
    for name, value in report.get("std", {}).items():
        yield f"final_{name}_std", value
    for baseline, results in (report.get("baselines") or {}).items():
        for name, value in results.items():
            yield f"baseline_{baseline}_{name}", value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def tags_of(report: Mapping[str, Any]) -> dict[str, str]:
    """Return a report's data digests, machine and version."""
    tags = {name: str(report[name]) for name in _TAGS if report.get(name)}
    version = (report.get("versions") or {}).get("bert_cli")
    return tags | ({"bert_cli_version": version} if version else {})


def result_paths(folder: str) -> list[str]:
    """Return a run's or sweep's files that are always sent, among them the page."""
    return _present(folder, _RESULTS)


def model_paths(folder: str) -> list[str]:
    """Return a model's files: checkpoint, vocabulary, config, labels and manifest."""
    model = model_folder(folder)
    checkpoint = latest_checkpoint(model)
    prefix = f"{os.path.basename(checkpoint)}." if checkpoint else None
    parts = [name for name in files.list_directory(model) if prefix and name.startswith(prefix)]
    return _present(model, (*sorted(parts), *_MODEL))


def _present(folder: str, file_names: tuple[str, ...]) -> list[str]:
    paths = [os.path.join(folder, name) for name in file_names]
    return [path for path in paths if files.exists(path) and not files.is_remote(path)]
