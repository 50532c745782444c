"""Reader of a run's output directory; missing files only make a report shorter."""

import dataclasses
import os
from collections.abc import Iterable
from typing import Any, NamedTuple, TypedDict, cast

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import JsonObject, read_json_object
from bert_cli.base.lines import read_text
from bert_cli.base.names import BEST_FILE, EVAL_EXAMPLES, EVAL_RESULTS, FLAGS, MANIFEST, POSITIVE_LABEL, REPORT
from bert_cli.examples.glue import TASKS
from bert_cli.flags.run_flags import read_flags
from bert_cli.outputs.eval_examples import EvalExamples, read_eval_examples
from bert_cli.outputs.history import HistoryEntry, read_history

_RESTORE = "restore it, or remove it"


class LengthFigures(TypedDict):
    """Statistics of the tokens per input, see outputs.dry_run.length_figures."""

    rows: int
    limit: int
    mean: float
    median: float
    longest: int
    edges: list[int]
    counts: list[int]


class EvaluationReport(TypedDict, total=False):
    """Evaluation in run_report.json, besides the metrics; scores are numbers by column and label.

    Intervals are the ends of a confidence interval by metric.
    """

    intervals: dict[str, list[float]]
    eval_examples: int
    confusion_matrix: list[list[int]]
    classes: dict[str, dict[str, float]]
    labels: dict[str, dict[str, float]]


class RunReport(TypedDict, total=False):
    """Members of run_report.json that the page shows; each command writes some of them.

    Digests cover texts and labels. `parameters` counts by part of the model, `lengths` and
    `cut_examples` by split.
    """

    finished: str
    devices: str
    precision: str
    versions: dict[str, str]
    parameters: dict[str, int]
    positive_label: str
    peak_memory_bytes: int
    peak_device_memory_bytes: int
    global_step: int
    last_step: int
    last_loss: float
    train_seconds: float
    total_seconds: float
    train_examples_per_second: float
    eval_examples_per_second: float
    train_data_digest: str
    eval_data_digest: str
    labels: list[str]
    lengths: dict[str, LengthFigures]
    cut_examples: dict[str, int]
    eval: EvaluationReport
    baselines: dict[str, dict[str, float]]


class BestStep(NamedTuple):
    """The evaluation that chose the checkpoint in best/."""

    step: int
    metric: str
    value: float


@dataclasses.dataclass(frozen=True)
class Run:
    """A training run.

    Attributes:
        folder: output directory.
        manifest: contents of run.json, the settings that decided the result.
        report: contents of run_report.json, {} if it does not exist.
        flags: contents of flags.txt.
        results: numbers in eval_results.txt, counts as int, {} before an evaluation.
        history: lines of history.jsonl, in step order.
        examples: evaluated rows, None before an evaluation.
        best: the choice of the best checkpoint, None without evaluations during training.
    """

    folder: str
    manifest: JsonObject
    report: RunReport
    flags: dict[str, str]
    results: dict[str, float]
    history: list[HistoryEntry]
    examples: EvalExamples | None
    best: BestStep | None = None

    @property
    def name(self) -> str:
        return os.path.basename(os.path.normpath(self.folder)) or self.folder

    @property
    def data_set(self) -> str:
        """Return the name of a training file, task or data directory, else the run's name."""
        path = self.flags.get("train_file") or self.flags.get("input_file")
        task = str(self.manifest.get("task_name", ""))
        if not path and task in TASKS:
            return task
        path = path or self.flags.get("data_dir") or ""
        return os.path.basename(os.path.normpath(path)) if path else self.name

    @property
    def command(self) -> str:
        return str(self.manifest.get("command", ""))

    @property
    def positive_label(self) -> str:
        """Return the label that eval_f1 is of, "" if it is of no single label."""
        return str(self.report.get(POSITIVE_LABEL, ""))

    @property
    def evaluations(self) -> list[tuple[int, dict[str, float]]]:
        """Return (step, metrics) for each evaluation in the history."""
        return [(line["step"], line["metrics"]) for line in self.history if isinstance(line.get("metrics"), dict)]

    def series(self, name: str) -> tuple[list[int], list[float]]:
        """Return steps and values for a member in the history's training lines."""
        return _columns((line["step"], line.get(name)) for line in self.history)

    def metric_values(self, metric: str) -> tuple[list[int], list[float]]:
        """Return steps and values for an evaluation metric."""
        return _columns((step, metrics.get(metric)) for step, metrics in self.evaluations)


def _columns(pairs: Iterable[tuple[int, Any]]) -> tuple[list[int], list[float]]:
    numbers = [(step, value) for step, value in pairs if isinstance(value, int | float)]
    return [step for step, _ in numbers], [float(value) for _, value in numbers]


def read_run(folder: str) -> Run:
    """Read a run's directory.

    Raises:
        InputError: the directory has no run, or a file is damaged.
    """
    path = os.path.join(folder, MANIFEST)
    if not files.exists(path):
        reason = "holds no run: there is no run.json" if files.is_directory(folder) else "no such folder"
        raise InputError(f"{folder}: {reason}; give the output directory of a training run")
    manifest = read_json_object(path, _RESTORE)
    if not isinstance(manifest.get("config"), dict):
        raise InputError(f"{path}: is not the run.json of a training run; give the output directory of one")
    report = os.path.join(folder, REPORT)
    return Run(
        folder=folder,
        manifest=manifest,
        report=cast(RunReport, read_json_object(report, _RESTORE) if files.exists(report) else {}),
        flags=read_flags(os.path.join(folder, FLAGS)),
        results=_read_results(os.path.join(folder, EVAL_RESULTS)),
        history=read_history(folder),
        examples=read_eval_examples(os.path.join(folder, EVAL_EXAMPLES)),
        best=_read_best(os.path.join(folder, BEST_FILE)),
    )


def _read_best(path: str) -> BestStep | None:
    values = read_json_object(path, _RESTORE) if files.exists(path) else {}
    return BestStep(*(values[name] for name in BestStep._fields)) if values.keys() >= {*BestStep._fields} else None


def _read_results(path: str) -> dict[str, float]:
    """Return the `name = number` lines, with int for counts; skip values that are not numbers."""
    results: dict[str, float] = {}
    if files.exists(path):
        for line in read_text(path).split("\n"):
            name, _, value = line.partition(" = ")
            try:
                results[name] = int(value) if value.isdigit() else float(value)
            except ValueError:
                continue
    return results
