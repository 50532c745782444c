"""Experiment-tracking services of --report_to: MLflow and Weights & Biases, by their packages."""

import contextlib
import dataclasses
import importlib
import os
import ssl
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

FINISHED, FAILED, KILLED = "FINISHED", "FAILED", "KILLED"  # states of a run that ended, as in MLflow


@dataclasses.dataclass(frozen=True)
class TrackedRun:
    """A run or a sweep, for a service.

    Attributes:
        name: its directory.
        flags: contents of flags.txt.
        is_sweep: whether it is a parent of several runs.
        parent_id: the parent's id in the service; "" without one.
        known_id: the service's id if the run resumes; "" for a new run.
    """

    name: str
    flags: Mapping[str, str]
    is_sweep: bool
    parent_id: str
    known_id: str


class TrackingService:
    """A tracking service, as an interface.

    Attributes:
        name: value of --report_to.
        can_add_earlier_steps: whether earlier steps can be sent after later ones.
    """

    name: str
    can_add_earlier_steps: bool

    @property
    def address(self) -> str:
        """Return the server's address, or the directory of local files."""
        raise NotImplementedError

    def start(self, run: TrackedRun) -> str:
        """Start or continue a run, and return the service's id for it."""
        raise NotImplementedError

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        """Send numbers of a step."""
        raise NotImplementedError

    def send_results(self, numbers: Mapping[str, float], tags: Mapping[str, str]) -> None:
        """Send the final numbers and tags."""
        raise NotImplementedError

    def send_files(self, paths: Sequence[str], directory: str) -> None:
        """Send files as artifacts.

        Args:
            paths: the files.
            directory: the artifacts' directory; "" for the top.
        """
        raise NotImplementedError

    def finish(self, status: str) -> None:
        """End the run with FINISHED, FAILED or KILLED."""
        raise NotImplementedError


@contextlib.contextmanager
def _default_variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables in the block, unless the user has set them."""
    added = [name for name in values if name not in os.environ]
    os.environ.update({name: values[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


# MLflow's own defaults are 120 seconds and 7 retries,
# and training waits for them. We retry ourselves.
_IMPATIENT = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
_MAX_PARAMS = 100  # in one request to MLflow's server


class Mlflow(TrackingService):
    """A run in MLflow, using MLFLOW_TRACKING_URI. A sweep's runs are children of the sweep's run."""

    name = "mlflow"
    can_add_earlier_steps = True

    def __init__(self) -> None:
        self._mlflow: Any = importlib.import_module("mlflow")
        self._known_id = ""
        self._known_steps: dict[str, set[int]] = {}

    @property
    def address(self) -> str:
        # This is for messages about failures, so it must not fail itself.
        return str(getattr(self._mlflow, "get_tracking_uri", str)())

    def start(self, run: TrackedRun) -> str:
        # An active run becomes the parent: our sweep's run, or one that the user's program uses.
        with _default_variables(_IMPATIENT):
            if run.known_id:
                self._mlflow.start_run(run_id=run.known_id, nested=True)
                self._known_id = run.known_id
                self._continue_flags(run)
                return run.known_id
            active_run = self._mlflow.start_run(run_name=run.name, nested=True)
            self._log_flags(run.flags)
            return active_run.info.run_id if active_run else ""

    def _continue_flags(self, run: TrackedRun) -> None:
        """Send new flags as parameters, and changed ones as tags, because parameters cannot change."""
        known_params = self._mlflow.get_run(run.known_id).data.params
        self._log_flags({name: value for name, value in run.flags.items() if name not in known_params})
        changed = {name: value for name, value in run.flags.items() if known_params.get(name, value) != value}
        if changed:
            self._mlflow.set_tags(changed)

    def _log_flags(self, flags: Mapping[str, str]) -> None:
        items = list(flags.items())
        for start in range(0, len(items), _MAX_PARAMS):
            self._mlflow.log_params(dict(items[start : start + _MAX_PARAMS]))

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        with _default_variables(_IMPATIENT):
            if not self._is_known(step, metrics):
                self._mlflow.log_metrics(dict(metrics), step=step)

    def _is_known(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Return whether a resumed run has sent these numbers before."""
        if not self._known_id:
            return False
        name = next(iter(metrics))
        if name not in self._known_steps:
            points = self._mlflow.MlflowClient().get_metric_history(self._known_id, name)
            self._known_steps[name] = {point.step for point in points}
        return step in self._known_steps[name]

    def send_results(self, numbers: Mapping[str, float], tags: Mapping[str, str]) -> None:
        with _default_variables(_IMPATIENT):
            self._mlflow.log_metrics(dict(numbers))
            self._mlflow.set_tags(dict(tags))

    def send_files(self, paths: Sequence[str], directory: str) -> None:
        for path in paths:
            self._mlflow.log_artifact(path, directory or None)

    def finish(self, status: str) -> None:
        with _default_variables(_IMPATIENT):
            self._mlflow.end_run(status)


def _check_answer(url: str) -> None:
    """Raise ConnectionError if no server answers there: W&B itself tries for half a minute."""
    # Import late: only W&B needs it.
    import urllib.error
    import urllib.request

    try:
        urllib.request.urlopen(url, timeout=_ANSWER_SECONDS).close()
    except urllib.error.HTTPError:
        return  # it has answered
    except urllib.error.URLError as error:
        if not isinstance(error.reason, ssl.SSLError):  # W&B may know the server's certificate
            raise ConnectionError(str(error.reason)) from error


_ANSWER_SECONDS = 10.0
# Seconds. W&B waits 90 for a server at the start, and at the end without limit.
_WANDB_IMPATIENT = {"WANDB_INIT_TIMEOUT": "20", "WANDB_FINISH_TIMEOUT": "120"}


class Wandb(TrackingService):
    """A run in Weights & Biases; its files are in ./wandb, or in WANDB_DIR.

    A sweep's runs are a group. The sweep itself is one more run in the group. It starts when the
    others have ended, because a process has one run at a time.
    """

    name = "wandb"
    can_add_earlier_steps = False

    def __init__(self) -> None:
        self._wandb: Any = importlib.import_module("wandb")
        self._run: Any = None
        self._sweep: TrackedRun | None = None
        self._id = ""

    @property
    def address(self) -> str:
        return os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")

    def start(self, run: TrackedRun) -> str:
        self._id = run.known_id or uuid.uuid4().hex[:8]
        if run.is_sweep:
            self._sweep = run
            return self._id
        self._init(run, "run", run.parent_id)
        return self._id

    def _init(self, run: TrackedRun, job_type: str, group: str) -> None:
        settings = self._wandb.setup().settings
        if settings.mode in ("online", "shared"):
            _check_answer(settings.base_url)
        options = {"group": f"sweep-{group}"} if group else {}
        with _default_variables(_WANDB_IMPATIENT):
            self._run = self._wandb.init(
                name=run.name, config=dict(run.flags), id=self._id, resume="allow", job_type=job_type, **options
            )

    def log(self, step: int, metrics: Mapping[str, float]) -> None:
        self._run.log(dict(metrics), step=step)

    def send_results(self, numbers: Mapping[str, float], tags: Mapping[str, str]) -> None:
        if self._sweep:
            self._init(self._sweep, "sweep", self._sweep.parent_id or self._id)
        self._run.summary.update(dict(numbers))
        self._run.config.update(dict(tags), allow_val_change=True)

    def send_files(self, paths: Sequence[str], directory: str) -> None:
        if directory:
            artifact = self._wandb.Artifact(f"{directory}-{self._id}", type=directory)
            for path in paths:
                artifact.add_file(path)
            self._run.log_artifact(artifact)
            return
        for path in paths:
            self._run.save(path, base_path=os.path.dirname(path), policy="now")

    def finish(self, status: str) -> None:
        if self._run:
            self._run.finish(exit_code=0 if status == FINISHED else 1)


SERVICES: dict[str, type[TrackingService]] = {service.name: service for service in (Mlflow, Wandb)}
