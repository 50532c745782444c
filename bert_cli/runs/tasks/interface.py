"""The interface between the run driver and a task: plans, evaluations, and the methods of a task."""

import contextlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeVar, cast

from bert_cli.features.row_batches import steps_and_batch
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.outputs.eval_examples import EvalExamples
from bert_cli.runs.engine.predictor import InferenceHead, Predictor
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.runs.loading.loader import load_model
from bert_cli.runs.tasks.dataset import Dataset
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.heads.model import NetworkOptions, TaskModel
    from bert_cli.runs.engine.training_inputs import RowInput, StreamInput


class Plan(NamedTuple):
    """What a task says of its training, before TensorFlow is imported.

    decided: what decides the result in addition to the flags that do (see flags.option), for the
    manifest. found: values of flags that the run found by itself, for flags.txt. guesses: values of
    flags that its data gave, and that a later run finds again in other data. labels: None for a
    task without. examples: rows in one pass over the data, 0 where there are no passes.
    class_weights: see controls. batch_size: of a training that has less than one batch, None for
    --train_batch_size.
    """

    steps: int
    warmup_steps: int
    deciding_values: dict[str, Any]
    resolved_flags: dict[str, Any]
    labels: tuple[str, ...] | None = None
    examples: int = 0
    class_weights: tuple | None = None
    batch_size: int | None = None
    guesses: Mapping[str, str] = MappingProxyType({})


class Evaluation(NamedTuple):
    """results: for eval_results.txt. lines: further lines for the log. report: further entries of
    run_report.json.

    examples(): what the report shows of single rows, computed only when it is wanted, in all
    processes. details: what the task's prediction and cross-validation need of it, such as tuned
    thresholds and predictions.
    """

    results: dict[str, Any]
    lines: list[str]
    report: dict[str, Any]
    examples: Callable[[], EvalExamples] | None = None
    details: Any = None


class Comparison(NamedTuple):
    """Whether a model has learned something, by its evaluation.

    baselines: by name, the metrics of simple predictors on the same rows, without `eval_`; the
    constant one comes first; {} where the training rows are not known. is_varied: the labels of the
    rows differ, so that a constant is no good answer. collapse: what all predictions have in
    common, "" where they differ; advice: what to do against that, "" for what helps against any
    poor training.
    """

    baselines: dict[str, dict[str, float]]
    is_varied: bool
    collapse: str
    advice: str


class RunResult(NamedTuple):
    """report: what run_report.json got. evaluation: None where nothing was evaluated."""

    report: dict[str, Any]
    evaluation: Evaluation | None = None


Model = TypeVar("Model", bound=ModelBundle[BertConfig | ModuleConfig])
Data = TypeVar("Data", bound=Dataset)


class Task(Generic[Model, Data]):
    """What belongs to one command alone: methods from values to values, which keep nothing between
    calls.

    command: its name, for the manifest.
    """

    command: str
    settings: Any

    def __init__(self, settings: Any):
        self.settings = settings

    def with_settings(self, settings: Any) -> Self:
        """A task of the same kind, with other settings, on the same data where that is in memory
        and no file.
        """
        return type(self)(settings)

    @property
    def freezes_encoder(self) -> bool:
        """Whether nothing of the encoder is trained."""
        return self.settings.rates.freeze_encoder or not self.settings.hub.hub_trainable

    def load(self, checkpoint: CheckpointPath | None) -> Model:
        """The model's files, read and checked against each other; no weights."""
        settings = self.settings
        return cast(Model, load_model(settings.model, checkpoint, settings.encoding.max_seq_length, settings.hub))

    def read(self, model: Model, stack: contextlib.ExitStack) -> Data:
        """Read what the phases need. All that can be wrong with flags and data is said here. stack:
        closes what stays open.
        """
        raise NotImplementedError

    def plan(self, model: Model, data: Data) -> Plan:
        """What is to be trained."""
        raise NotImplementedError

    def fine_tuning_plan(self, rows: int, examples: int, **values: Any) -> Plan:
        """The plan of --num_train_epochs over `rows` rows; examples: see Plan, as the other values."""
        training, fine_tuning = self.settings.training, self.settings.fine_tuning
        assert fine_tuning.num_train_epochs is not None, "with_size_defaults has set it"
        asked = training.train_batch_size
        steps, batch_size = steps_and_batch(rows, asked, fine_tuning.num_train_epochs)
        values["batch_size"] = None if batch_size == asked else batch_size
        warmup_steps = int(steps * fine_tuning.warmup_proportion)
        return Plan(steps, warmup_steps, examples=examples, **values)

    def make_model(self, model: Model, data: Data, options: "NetworkOptions") -> "TaskModel":
        """The encoder with the task's head, a keras.Model; its file in heads/ has the loss."""
        raise NotImplementedError

    def inference_head(self, model: Model, data: Data, flag: str) -> InferenceHead:
        """The same head for inference engines; InputError, naming the flag that asks for one, where
        there is none.
        """
        raise NotImplementedError

    def training_input(self, data: Data, folder: str | None, resumes: bool, writes: bool) -> "RowInput | StreamInput":
        """What is trained on. Imports TensorFlow.

        folder: of the run, where files may be kept; None for a dry run. resumes: the run goes on
        from a checkpoint. writes: whether this process writes files.
        """
        from bert_cli.runs.engine.training_inputs import RowInput

        return RowInput(data.training_features(), self.settings.inference.eval_batch_size)

    def evaluate(self, predictor: Predictor, data: Data) -> Evaluation:
        """The task's metrics on the dev data."""
        raise NotImplementedError

    def compare(self, data: Data, evaluation: Evaluation) -> Comparison | None:
        """The evaluation compared with simple baselines; None for a task without this check."""
        return None

    def learning_advice(self, data: Data) -> str:
        """Return what to do about labels that cannot be learned, "" for usual ones."""
        return ""

    def guess_loss(self, data: Data) -> float | None:
        """The training loss of a model that guesses, None where it is not known."""
        return None

    def predict(self, predictor: Predictor, data: Data, evaluation: Evaluation | None) -> dict[str, Any]:
        """Write the files of the predictions; returns further entries of the report. evaluation: of
        the same run, if any.
        """
        return {}
