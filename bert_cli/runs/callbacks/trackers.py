"""Experiment trackers for --report_to, each an observer that sends a run to a service.

A tracker never ends a training. If a service does not answer, the tracker keeps the numbers and tries
again later. At the end it names the missing steps.
"""

import collections
import re
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from bert_cli.base import files
from bert_cli.base.errors import InputError, first_line
from bert_cli.base.json_files import read_json_object
from bert_cli.base.log import LOG
from bert_cli.base.names import TRACKING
from bert_cli.base.writing import write_json
from bert_cli.outputs.history import HistoryEntry
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.callbacks.observers import Callback
from bert_cli.runs.callbacks.services import FAILED, FINISHED, KILLED, TrackedRun, TrackingService
from bert_cli.runs.callbacks.tracked_results import (
    evaluation_numbers,
    final_numbers,
    model_paths,
    result_paths,
    tags_of,
    training_numbers,
)
from bert_cli.runtime.installing import require_packages

_FIRST_DELAY, _MAX_DELAY = 30.0, 600.0  # seconds between attempts to reach a service
_UNREACHABLE = {"ConnectionError", "Timeout", "ConnectTimeout", "ReadTimeout", "CommError", "TimeoutError"}
_ADVICE = {
    "mlflow": "start the server, set MLFLOW_TRACKING_URI to one that answers",
    "wandb": "set WANDB_MODE=offline and run `wandb sync` later",
}


def check_trackers(names: Sequence[str]) -> None:
    """Raise InputError if the package of a tracker in --report_to is not installed."""
    for name in names:
        require_packages([name], f"--report_to={name}", name)


class Tracker(Callback):
    """Sends a run or a sweep to a service."""

    def __init__(
        self,
        service: TrackingService,
        directory: RunDirectory,
        flags: Mapping[str, str],
        parent: "Tracker | None" = None,
        is_sweep: bool = False,
        sends_model: bool = False,
        is_resumed: bool = False,
        history: Sequence[HistoryEntry] = (),
    ):
        """Keep the run's facts; `open` starts it.

        Args:
            service: the service to use.
            directory: the directory, which names the run.
            flags: contents of flags.txt, which become parameters.
            parent: the sweep's tracker, or None.
            is_sweep: whether this is a sweep.
            sends_model: value of --report_model.
            is_resumed: whether the run resumes, using the service's earlier run.
            history: history lines so far.
        """
        self._service = service
        self._directory = directory
        self._flags = flags
        self._parent = parent
        self._is_sweep = is_sweep
        self._sends_model = sends_model
        self._known_id = _read_ids(directory).get(service.name, "") if is_resumed else ""
        self._id = ""
        self._is_started = False
        self._is_ended = False
        self._pending: collections.deque[tuple[int, dict[str, float]]] = collections.deque()
        self._problem = ""  # why the last attempt failed, "" if it did not
        self._next_attempt = 0.0
        self._delay = _FIRST_DELAY
        if self._known_id and service.can_add_earlier_steps:
            self._pending.extend(map(_numbers_of, history))

    def open(self) -> bool:
        """Start the run, and return whether it was not started before.

        Raises:
            InputError: if the service refuses the command's first run. A sweep's later runs only
                warn.
        """
        if self._is_started:
            return False
        is_first = self._parent is None or self._parent.open()
        try:
            self._start()
        except Exception as error:
            reason = self._explain(error)
            if is_first:
                raise InputError(
                    f"--report_to={self._service.name}: {reason}; {_ADVICE[self._service.name]}, or leave out --report_to"
                ) from error
            self._postpone(reason)
        return True

    def _start(self) -> None:
        parent_id = self._parent._id if self._parent else ""
        run = TrackedRun(self._directory.path, self._flags, self._is_sweep, parent_id, self._known_id)
        self._id = self._service.start(run)
        self._is_started = True

    def store_id(self) -> None:
        """Write the service's id into the directory, so that a resumed run uses it again."""
        if self._parent:
            self._parent.store_id()
        if self._id and files.exists(self._directory.path):
            write_json(self._directory.file(TRACKING), _read_ids(self._directory) | {self._service.name: self._id})

    def on_start(self, steps: int) -> None:
        self.store_id()

    def on_log(self, step: int, metrics: Mapping[str, float]) -> None:
        self._add(step, training_numbers(metrics))

    def on_evaluate(self, step: int, metrics: Mapping[str, float]) -> None:
        self._add(step, evaluation_numbers(metrics))

    def on_end(self, report: Mapping[str, Any]) -> None:
        self._is_ended = True
        self._send_pending()
        if not self._problem:
            self._try(lambda: self._send_results(report))
        self._finish(FINISHED)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the run if an error ends the training; otherwise `on_end` does."""
        if error is not None and not self._is_ended:
            self._is_ended = True
            if self._is_started:
                self._send_pending()
            self._finish(FAILED if isinstance(error, Exception) else KILLED)

    def _add(self, step: int, numbers: dict[str, float]) -> None:
        self._pending.append((step, numbers))
        if time.monotonic() >= self._next_attempt:
            self._send_pending()

    def _send_pending(self) -> None:
        self._try(self._send)

    def _send(self) -> None:
        if not self._is_started:
            self._start()
            self.store_id()
        while self._pending:
            self._service.log(*self._pending[0])
            self._pending.popleft()
        if self._problem:
            LOG.info("--report_to=%s: %s answers again, and has all numbers so far", self._service.name, self._address)
        self._problem, self._delay = "", _FIRST_DELAY

    def _send_results(self, report: Mapping[str, Any]) -> None:
        self._service.send_results(final_numbers(report), tags_of(report))
        folder = self._directory.path
        self._service.send_files(result_paths(folder), "")
        if self._sends_model and not self._is_sweep:
            self._service.send_files(model_paths(folder), "model")

    def _finish(self, status: str) -> None:
        if self._is_started:
            self._try(lambda: self._service.finish(status))
        if not self._problem:
            return
        steps = [step for step, _ in self._pending]
        numbers = (
            f"the numbers of steps {steps[0]} to {steps[-1]} were not sent; history.jsonl has them" if steps else ""
        )
        missing = numbers or "the end of the run was not sent"
        LOG.warning("warning: --report_to=%s: %s (%s)", self._service.name, missing, self._problem)

    def _try(self, action: Callable[[], None]) -> None:
        """Use the service; after a failure, warn once and wait longer each time."""
        try:
            action()
        except Exception as error:
            self._postpone(self._explain(error))

    def _postpone(self, reason: str) -> None:
        if not self._problem and not self._is_ended:
            LOG.warning(
                "warning: --report_to=%s: %s; the run goes on, and what is missing is sent later",
                self._service.name, reason,
            )  # fmt: skip
        self._problem = reason
        self._next_attempt = time.monotonic() + self._delay
        self._delay = min(2 * self._delay, _MAX_DELAY)

    @property
    def _address(self) -> str:
        """Return the service's address without a password."""
        parts = urlsplit(self._service.address)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() or "the server"

    def _explain(self, error: Exception) -> str:
        cause: BaseException | None = error
        while cause:
            if {base.__name__ for base in type(cause).__mro__} & _UNREACHABLE:
                return f"{self._address} does not answer"
            cause = cause.__cause__ or cause.__context__
        return f"{self._address}: {re.sub(r'//[^/@ ]*@', '//', first_line(error))}"


def _numbers_of(entry: HistoryEntry) -> tuple[int, dict[str, float]]:
    """Return a history line's step and numbers."""
    return entry["step"], evaluation_numbers(entry["metrics"]) if "metrics" in entry else training_numbers(entry)


def _read_ids(directory: RunDirectory) -> dict[str, str]:
    """Return a run's ids by service, {} if the run was not sent."""
    path = directory.file(TRACKING)
    values = read_json_object(path, "remove it to start a new run there") if files.exists(path) else {}
    return {name: value for name, value in values.items() if isinstance(value, str)}
