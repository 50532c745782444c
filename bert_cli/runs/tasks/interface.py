"""What a task is to the driver: the methods that it brings, and what they say. A contract; the tasks stand beside it."""

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from bert_cli.features.ragged import RaggedFeatures
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.outputs.dry_run import Survey
from bert_cli.outputs.eval_examples import EvalExamples
from bert_cli.runs.engine.onnx_heads import OnnxHead
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.loading import sources
from bert_cli.text.vocabulary import Vocabulary
from bert_cli.training.hyperparameters import Updates
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.heads.model import TaskModel
    from bert_cli.runs.engine.session import Session


class Plan(NamedTuple):
    """What a task says of its training, before TensorFlow is there.

    decided: what decides the result beside the flags that do (see flags.option), for the manifest. found: values of
    flags that the run found by itself, for flags.txt. labels: None for a task without. examples: rows in one pass over the
    data, 0 where there are no passes. class_weights: see controls.
    """

    steps: int
    warmup_steps: int
    decided: dict[str, Any]
    found: dict[str, Any]
    labels: tuple[str, ...] | None = None
    bias_correction: bool = False
    examples: int = 0
    class_weights: tuple | None = None


class Evaluation(NamedTuple):
    """results: for eval_results.txt. lines: what the log says of them besides. report: further entries of run_report.json.

    examples(): what the report shows of single rows, computed where it is wanted, which is not so on the way; in all processes.
    """

    results: dict[str, Any]
    lines: list[str]
    report: dict[str, Any]
    examples: Callable[[], EvalExamples] | None = None


class Opened(Protocol):
    """What every run needs of a model's files; the rest of what Task.open returns is between the methods of the task."""

    @property
    def sources(self) -> sources.ModelSources: ...

    @property
    def config(self) -> BertConfig | ModuleConfig: ...

    @property
    def vocabulary(self) -> Vocabulary | None: ...


Model = TypeVar("Model", bound=Opened)


class Task(Protocol[Model]):
    """What is of one kind of command alone. The methods are called in this order, those that a run needs.

    command: its name, for the manifest. files: names of what a prediction writes into output_dir; evaluation_files: of what
    an evaluation does, beside eval_results.txt; both after `read`. freezes_encoder: train nothing of the encoder. metrics:
    names of what an evaluation gives, by which one can be better than another, the task's main one first; after `read`.
    """

    @property
    def command(self) -> str:
        """See above."""

    @property
    def files(self) -> tuple[str, ...]:
        """See above."""

    @property
    def evaluation_files(self) -> tuple[str, ...]:
        """See above."""

    @property
    def freezes_encoder(self) -> bool:
        """See above."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """See above."""

    def again(self, settings: Any) -> "Task":
        """A task of the same kind, with other settings, on the same data where that is in memory and no file."""

    def open(self, checkpoint: CheckpointPath | None) -> Model:
        """The model's files, read and checked against each other."""

    def read(self, model: Model, stack: contextlib.ExitStack) -> None:
        """Read what the phases need. All that can be wrong with flags and data is said here. stack: closes what stays open."""

    def sequences(self) -> dict[str, RaggedFeatures]:
        """The tokens of each split that was read, as far as they are held in memory."""

    def surveys(self) -> dict[str, Survey]:
        """What --dry_run looks at of each split that was read, as far as it is held in memory."""

    def plan(self, model: Model) -> Plan:
        """What is to be trained."""

    def show_examples(self, model: Model, count: int) -> None:
        """Log the first `count` examples of each split."""

    def make_model(self, model: Model, compute_dtype: str) -> "TaskModel":
        """The encoder with the task's head, a keras.Model; its file in heads/ has the loss."""

    def onnx_head(self, model: Model, flag: str) -> OnnxHead:
        """The same head for onnxruntime; InputError, naming the flag that asks for it, where there is none."""

    def train(self, session: "Session", *, updates: Updates, **how: Any) -> dict[str, Any]:
        """Session.train, or train_stream, on the task's data; figures for the report, `global_step` among them.

        how: saving, folder, state, factors, hooks, and history, as Session.train has them.
        """

    def facts(self) -> dict[str, Any]:
        """What the report says of the task itself."""

    def evaluate(self, session: Predictor) -> Evaluation:
        """The task's metrics."""

    def predict(self, session: Predictor) -> dict[str, Any]:
        """Write the files of the predictions; further entries of the report."""


class DividedTask(Task[Model], Protocol[Model]):
    """A task with --cross_validation, for which it says three things more of its training rows, after `read`."""

    def again(self, settings: Any) -> Self: ...

    def strata(self) -> Sequence[object]:
        """What the folds are to have alike of each row; see examples.folds."""

    def part(self, settings: Any, held_out: np.ndarray) -> Self:
        """A task that trains on the same rows but those held out, bool [n], and evaluates these; nothing is read anew."""

    def write_folds(self, paths: tuple[str, str], folds: np.ndarray, parts: Sequence[Self]) -> int:
        """Write out_of_fold.tsv and suspects.tsv to these paths; returns how many lines the second has.

        folds: int64 [n], the place of each row's fold in `parts`, what `part` made of this task, after their evaluation.
        """
