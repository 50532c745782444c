"""Experiment trackers for --report_to, each an observer that sends a run's numbers."""

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.runs.callbacks.observers import Callback
from bert_cli.settings.training import TRACKERS


def check_trackers(names: Sequence[str]) -> None:
    """Raise InputError if the package of a tracker in --report_to is not installed."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise InputError(f'--report_to={name}: needs the package {name}; pip install -e ".[{name}]" in a clone')


def make_trackers(names: Sequence[str], folder: str, flags: Mapping[str, str]) -> list[Callback]:
    """Return an observer for each name in --report_to.

    Args:
        names: names in TRACKERS.
        folder: the run's directory, which names the run.
        flags: contents of flags.txt, which become the run's parameters.
    """
    classes = dict(zip(TRACKERS, (Mlflow, Wandb), strict=True))
    return [classes[name](folder, flags) for name in names]


class Tracker(Callback):
    """Base class for trackers, which send losses and metrics in the same way."""

    def __init__(self, folder: str, flags: Mapping[str, str]):
        self._folder = folder
        self._flags = dict(flags)

    def send(self, step: int, metrics: Mapping[str, float]) -> None:
        """Send numbers of a step."""
        raise NotImplementedError

    def on_log(self, step: int, metrics: Mapping[str, float]) -> None:
        self.send(step, metrics)

    def on_evaluate(self, step: int, metrics: Mapping[str, float]) -> None:
        self.send(step, metrics)


class Mlflow(Tracker):
    """Sends a run to MLflow, at MLFLOW_TRACKING_URI."""

    def __init__(self, folder: str, flags: Mapping[str, str]):
        super().__init__(folder, flags)
        self._mlflow: Any = importlib.import_module("mlflow")

    def on_start(self, steps: int) -> None:
        self._mlflow.start_run(run_name=self._folder)
        self._mlflow.log_params(self._flags)

    def send(self, step: int, metrics: Mapping[str, float]) -> None:
        self._mlflow.log_metrics(dict(metrics), step=step)

    def on_end(self, report: Mapping[str, Any]) -> None:
        self._mlflow.end_run()


class Wandb(Tracker):
    """Sends a run to Weights & Biases; its files are in ./wandb, or in WANDB_DIR."""

    def __init__(self, folder: str, flags: Mapping[str, str]):
        super().__init__(folder, flags)
        self._wandb: Any = importlib.import_module("wandb")
        self._run: Any = None

    def on_start(self, steps: int) -> None:
        self._run = self._wandb.init(name=self._folder, config=self._flags)

    def send(self, step: int, metrics: Mapping[str, float]) -> None:
        self._run.log(dict(metrics), step=step)

    def on_end(self, report: Mapping[str, Any]) -> None:
        self._run.finish()
