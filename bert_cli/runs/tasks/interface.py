"""Interface between the run driver and a task: plans, evaluations and task methods."""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from bert_cli.base.head_types import CLASSIFIER
from bert_cli.base.json_files import JsonObject
from bert_cli.features.row_batches import steps_and_batch
from bert_cli.inference.engine import Network
from bert_cli.inference.rows import Predictor
from bert_cli.metrics.bootstrap import Intervals
from bert_cli.metrics.selection import Metric
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.opening.bundle import ModelBundle
from bert_cli.opening.head_labels import RunLabels
from bert_cli.opening.loader import load_model
from bert_cli.outputs.eval_examples import EvalExamples
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.tasks.dataset import Dataset
from bert_cli.weights.path import CheckpointPath

if TYPE_CHECKING:
    from bert_cli.heads.model import NetworkOptions, TaskModel
    from bert_cli.inference.tensorflow import TensorFlowEngine
    from bert_cli.runs.engine.training_inputs import RowInput, StreamInput


class Recipe(NamedTuple):
    """Learning rate and epochs of a training, named as their flags.

    Attributes:
        learning_rate: peak learning rate.
        num_train_epochs: passes over the training data; bert-pretrain has a default of its own.
    """

    learning_rate: float
    num_train_epochs: float

    def flag_values(self, settings: Any) -> dict[str, float]:
        """Return the values for the command's flags that have such defaults."""
        return {name: value for name, value in self._asdict().items() if name in settings.recipe_flags}


class Plan(NamedTuple):
    """A task's plan for training, made before TensorFlow is imported.

    Attributes:
        steps: number of updates.
        warmup_steps: updates during which the learning rate rises.
        deciding_values: values for the manifest that decide the result, besides deciding flags
            (see flags.option).
        resolved_flags: flag values for flags.txt that the run has determined from data and model.
        labels: label names for labels.txt, None for a task without labels.
        has_flag_labels: whether they come from --labels.
        label_aliases: see RunLabels.aliases.
        examples: rows per epoch.
        class_weights: weights in the loss, see controls.class_weights.
        batch_size: batch size if there are fewer rows than --train_batch_size, None otherwise.
        fits_head: whether Task.fit_head follows the updates, as one more step.
        head_type: type of the trained head, a key of HEAD_TYPES.
        guesses: flag values guessed from the data; later runs guess again, from their own data.
        model_files: the model's files besides config and tokenizer, by their path in output_dir.
        head_bias: initial bias of a new head's only output, see OutputDecoder.initial_bias.
    """

    steps: int
    warmup_steps: int
    deciding_values: JsonObject
    resolved_flags: JsonObject
    labels: tuple[str, ...] | None = None
    examples: int = 0
    class_weights: tuple | None = None
    batch_size: int | None = None
    guesses: Mapping[str, str] = MappingProxyType({})
    has_flag_labels: bool = False
    label_aliases: Mapping[str, Sequence[str]] = MappingProxyType({})
    fits_head: bool = False
    head_type: str = CLASSIFIER
    model_files: Mapping[str, bytes] = MappingProxyType({})
    head_bias: float | None = None

    def run_labels(self, command: str) -> RunLabels:
        """Return the labels that rows of a trained head follow."""
        return RunLabels(command, self.labels or (), self.has_flag_labels, self.label_aliases, self.head_bias)


Details = TypeVar("Details")


@dataclasses.dataclass(frozen=True)
class Evaluation(Generic[Details]):
    """Results of an evaluation.

    Attributes:
        results: metrics for eval_results.txt.
        lines: additional lines for the log.
        report: additional entries for run_report.json.
        details: values that the task's prediction and cross-validation use, such as tuned
            thresholds and predictions.
        examples: examples() returns rows for the report. It computes them on demand, and all
            processes must call it.
        intervals: intervals() returns confidence intervals of the results. It computes them on
            demand: evaluations during training need none.
    """

    results: Mapping[str, Metric]
    lines: list[str]
    report: JsonObject
    details: Details
    examples: Callable[[], EvalExamples] | None = None
    intervals: Callable[[], Intervals] = Intervals


class BaselineComparison(NamedTuple):
    """Comparison with baselines, which shows whether the model learned anything.

    Attributes:
        baselines: metrics of simple predictors on the same rows by name, without `eval_`. The
            constant predictor comes first. {} if the training rows are unknown.
        is_varied: whether labels differ, so that equal predictions for all rows are bad.
        collapse: description of the prediction that all rows share, "" if predictions differ.
        advice: advice against a collapse, "" for the general advice on poor training.
        error: a metric that also has to be better than the constant predictor's; "" for none.
    """

    baselines: dict[str, dict[str, float]]
    is_varied: bool
    collapse: str
    advice: str
    error: str = ""


@dataclasses.dataclass(frozen=True)
class RunResult(Generic[Details]):
    """Result of a run: entries for run_report.json, and the evaluation, if there was one."""

    report: JsonObject
    evaluation: Evaluation[Details] | None = None


def fine_tuning_plan(settings: Any, recipe: Recipe, num_rows: int, num_examples: int, **values: Any) -> Plan:
    """Return the plan for a number of epochs.

    Args:
        recipe: number of epochs.
        num_rows: rows per epoch, from which the number of steps is computed.
        num_examples: Plan.examples.
        **values: other attributes of the plan, see Plan.
    """
    train_batch_size = settings.training.train_batch_size
    steps, batch_size = steps_and_batch(num_rows, train_batch_size, recipe.num_train_epochs)
    values["batch_size"] = None if batch_size == train_batch_size else batch_size
    warmup_steps = int(steps * settings.fine_tuning.warmup_proportion)
    return Plan(steps, warmup_steps, examples=num_examples, **values)


Model = TypeVar("Model", bound=ModelBundle[BertConfig | ModuleConfig])
Data = TypeVar("Data", bound=Dataset)


class Task(Generic[Model, Data, Details]):
    """A command's data, head, metrics and files, as methods that keep no state between calls.

    Attributes:
        command: the command's name, for the manifest.
        settings: the run's flags.
    """

    command: str
    settings: Any

    def __init__(self, settings: Any):
        self.settings = settings

    @property
    def slow_packages(self) -> tuple[str, ...]:
        """Return the modules for an evaluation after training that take long to import."""
        return ()

    def load(self, checkpoint: CheckpointPath | None) -> Model:
        """Read the model's files without weights, and check that they belong together."""
        settings = self.settings
        return cast(Model, load_model(settings.model, checkpoint, settings.encoding.max_seq_length, settings.hub))

    def read(self, model: Model, stack: contextlib.ExitStack) -> Data:
        """Read the splits that the phases need, and report all errors in flags and data.

        Args:
            model: the model's files.
            stack: closes files that the dataset keeps open.
        """
        raise NotImplementedError

    def plan(self, model: Model, data: Data, recipe: Recipe) -> Plan:
        """Return the plan for training.

        Args:
            model: the model's files.
            data: dataset with the training rows.
            recipe: learning rate and number of epochs.
        """
        raise NotImplementedError

    def make_model(self, model: Model, data: Data, options: "NetworkOptions") -> "TaskModel":
        """Return the encoder with the task's head, a keras.Model; heads/ defines its loss.

        Args:
            model: the model's config.
            data: dataset with the labels.
            options: keyword arguments that all networks share.
        """
        raise NotImplementedError

    def network(self, model: Model, data: Data) -> Network:
        """Return a description of the network, for all engines.

        Args:
            model: the model's config.
            data: dataset with the labels.
        """
        raise NotImplementedError

    def training_input(
        self, data: Data, directory: RunDirectory | None, resumes: bool, is_chief: bool
    ) -> "RowInput | StreamInput":
        """Return the source of training batches; import TensorFlow.

        Args:
            data: dataset with the training rows.
            directory: output directory, which may store files; None for a dry run.
            resumes: whether the run continues from a checkpoint.
            is_chief: whether this process writes files.
        """
        from bert_cli.runs.engine.training_inputs import RowInput

        return RowInput(data.training_features(), self.settings.inference.eval_batch_size)

    def fit_head(self, engine: "TensorFlowEngine", data: Data, class_weights: tuple | None) -> float:
        """Fit the head after the last update, see Plan.fits_head, and return the training loss.

        Args:
            engine: the model with the weights of the last update.
            data: dataset with the training rows.
            class_weights: see Plan.
        """
        raise NotImplementedError

    def evaluate(self, predictor: Predictor, data: Data) -> Evaluation[Details]:
        """Evaluate the model on the dev data."""
        raise NotImplementedError

    def compare(self, data: Data, evaluation: Evaluation[Details]) -> BaselineComparison | None:
        """Compare an evaluation with baselines; return None for a task without this check."""
        return None

    def learning_advice(self, data: Data) -> str:
        """Return advice about training labels that are hard to learn, "" for usual labels."""
        return ""

    def guess_loss(self, data: Data) -> float | None:
        """Return the training loss of a model that guesses, None if it is unknown."""
        return None

    def predict(self, predictor: Predictor, data: Data, evaluation: Evaluation[Details] | None) -> JsonObject:
        """Write files with predictions; return additional entries for run_report.json.

        Args:
            predictor: the opened model.
            data: dataset with the test rows.
            evaluation: evaluation in the same run, or None.
        """
        return {}


# Makes a command's task from its settings: the task
# class, or a function that also binds tables in memory.
MakeTask = Callable[[Any], Task[Any, Any, Any]]
