"""The settings that a training resolves, and its plan; neither needs TensorFlow."""

import dataclasses
from typing import Any, cast

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG
from bert_cli.base.names import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    BEST,
    BEST_FILE,
    EVAL_EXAMPLES,
    EVENTS,
    HISTORY,
    PAGE,
    TRACKING,
    VOCABULARY,
)
from bert_cli.flags.option import deciding_values, flag_values
from bert_cli.flags.saved import flags_to_save
from bert_cli.metrics.selection import find_metric
from bert_cli.outputs.history import History
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.run_directory.manifest import (
    COMMAND,
    OVERWRITING,
    PLAN_FROM,
    STEPS,
    model_manifest,
    schedule_start,
    schedule_warmup,
)
from bert_cli.runs.callbacks.evaluation import BestEvaluation, evaluation_interval
from bert_cli.runs.callbacks.trackers import check_trackers
from bert_cli.runs.resuming import ResumingCall, checkpoint_to_resume, describe_resuming_command
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.dataset import Dataset, data_for_checkpoint_selection
from bert_cli.runs.tasks.interface import Data, Model, Plan, Recipe, Task
from bert_cli.settings.training import EarlyStoppingFlags, TrainingSettings
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.weights.training_folder import step_number

# hidden_size -> defaults for models up to this width. Small models need larger steps: Turc et al.
# (2019) tried 3e-4, 1e-4, 5e-5 and 3e-5 in 4 epochs. docs/training.md has the table.
_UP_TO = {256: Recipe(3e-4, 4.0), 512: Recipe(1e-4, 4.0)}
GOOGLE = Recipe(5e-5, 3.0)  # defaults in Google's scripts, for BERT-Base and wider models
# Adapters have few weights and need larger steps (Hu
# et al., 2021, table 9: 2e-4 to 5e-4 for RoBERTa).
_MOST_LORA_RATE = 1e-3


def defaults_of(width: int) -> Recipe:
    """Return the defaults for a model with hidden states of this width."""
    return next((_UP_TO[max_width] for max_width in sorted(_UP_TO) if width <= max_width), GOOGLE)


def resolve_recipe(settings: TrainingSettings, width: int, command: str) -> Recipe:
    """Return the learning rate and epochs, and log their source unless flags give them.

    A resumed run keeps its values, because another version may have chosen other defaults.

    Args:
        width: the model's hidden_size.
        command: command name.
    """
    values = flag_values(settings)
    given: dict[str, float] = {name: values[name] for name in settings.recipe_flags if values[name] is not None}
    missing = [name for name in settings.recipe_flags if name not in given]
    defaults = defaults_of(width)
    rate_factor = settings.rate_factor
    if rate_factor is None:
        return defaults
    # Round, because the product is logged.
    defaults = defaults._replace(learning_rate=float(f"{rate_factor * defaults.learning_rate:.6g}"))
    if settings.rates.lora:
        defaults = defaults._replace(learning_rate=min(10 * defaults.learning_rate, _MOST_LORA_RATE))
    recipe = defaults._replace(**given)
    if not missing:
        return recipe
    directory, is_new = RunDirectory(settings.phases.output_dir), settings.phases.overwrite_output_dir
    manifest: dict[str, Any] = {}
    if not is_new and directory.newest_checkpoint is not None:
        manifest = directory.manifest or {}
    source = f"the {'defaults' if len(missing) > 1 else 'default'} for a model of width {width}"
    source += " with adapters" if settings.rates.lora else ""
    if manifest.get(COMMAND) == command and all(isinstance(manifest.get(name), float) for name in missing):
        recipe = recipe._replace(**{name: cast(float, manifest[name]) for name in missing})
        source = f"as the run in {directory} began"
    LOG.info("%s: %s", ", ".join(f"--{name}={getattr(recipe, name):g}" for name in missing), source)
    return recipe


@dataclasses.dataclass(frozen=True)
class TrainingPlan:
    """Everything that is decided about a training before TensorFlow is imported.

    Attributes:
        manifest, flags: contents of run.json and flags.txt.
        state: checkpoint prefix to resume from; None for a new run.
        history: history up to that checkpoint.
        best: choice of the best evaluation; None without evaluations during training.
        metric: metric that ranks this run among other runs.
        files: names of files that are specific to the task and the flags.
        rerun: the command or call that resumes the run after a signal.
        is_temporary: whether output_dir is deleted after an error.
    """

    task_plan: Plan
    updates: TrainingHyperparameters
    manifest: JsonObject
    flags: dict[str, str]
    state: str | None
    history: History
    best: BestEvaluation | None
    metric: str
    files: tuple[str, ...]
    rerun: str
    is_temporary: bool

    @property
    def done_steps(self) -> int:
        """Return the number of steps that earlier calls have trained."""
        return step_number(self.state) if self.state else 0

    @property
    def last_step(self) -> int:
        """Return the number of updates, plus 1 if Plan.fits_head."""
        return self.updates.steps + self.task_plan.fits_head

    @property
    def finished_checkpoint(self) -> str | None:
        """Return the last checkpoint if training is finished, otherwise None."""
        is_stopped = self.best is not None and self.best.is_stopped
        return self.state if self.state and (is_stopped or self.done_steps >= self.last_step) else None


def plan_training(
    task: Task[Model, Data, Any], model: Model, data: Data, recipe: Recipe, rerun: ResumingCall | None = None
) -> TrainingPlan:
    """Plan the training, and raise InputError if output_dir holds another run.

    Args:
        task, model, data: the task, its model and its data.
        recipe: learning rate and epochs.
        rerun: see driver.run_phases.
    """
    settings: TrainingSettings = task.settings
    check_trackers(settings.saving.report_to)
    plan = task.plan(model, data, recipe)
    resolved_flags = recipe.flag_values(settings) | plan.resolved_flags
    phases, early_stopping, training = settings.phases, settings.early_stopping, settings.training
    metric = _find_metric(early_stopping, data_for_checkpoint_selection(data))
    names = (*_files(data, settings), *plan.model_files)
    directory = RunDirectory(phases.output_dir)
    # The manifest has everything that decides the result. A run with another manifest is another
    # run.
    manifest = {COMMAND: task.command} | deciding_values(settings) | recipe.flag_values(settings)
    manifest |= plan.deciding_values
    tokenizer = model.tokenizer_settings.facts() if model.optional_vocabulary else {}
    vocabulary = model.tokenizer_files.get(VOCABULARY)
    manifest |= model_manifest(model.config, vocabulary, tokenizer, model.checkpoint)
    manifest |= {STEPS: plan.steps, PLAN_FROM: 0}
    manifest |= {OVERWRITING: True} if phases.overwrite_output_dir else {}
    state = checkpoint_to_resume(settings, manifest, model.checkpoint, names)
    done_steps = step_number(state) if state else 0
    first_step = schedule_start((directory.manifest or {}) if state else {}, plan.steps, done_steps)
    history = History(phases.output_dir, done_steps)
    best = None
    if early_stopping.eval_every:
        every = evaluation_interval(early_stopping.eval_every, plan.examples, training.train_batch_size)
        best = BestEvaluation(metric, every, early_stopping.early_stopping_patience, first_step, history)
    updates = TrainingHyperparameters(
        steps=plan.steps,
        warmup_steps=schedule_warmup(plan.warmup_steps, plan.steps, first_step),
        learning_rate=recipe.learning_rate,
        batch_size=plan.batch_size or training.train_batch_size,
        random_seed=settings.seed.random_seed,
        first_step=first_step,
        **controls.update_rules(settings),
    )
    return TrainingPlan(
        task_plan=plan,
        updates=updates,
        manifest=manifest | {PLAN_FROM: first_step},
        flags=flags_to_save(settings, resolved_flags),
        state=state,
        history=history,
        best=best,
        metric=metric,
        files=names,
        rerun=rerun.call if rerun else describe_resuming_command(phases.overwrite_output_dir),
        is_temporary=rerun is not None and rerun.is_temporary,
    )


def _find_metric(flags: EarlyStoppingFlags, data: Dataset) -> str:
    """Return the metric in --metric_for_best; raise InputError if --eval_every cannot use it."""
    metric = find_metric(flags.metric_for_best, data.metrics)
    reasons = data.undefined_metrics if flags.eval_every else {}
    if metric in reasons:
        defined = [name for name in data.metrics if name not in reasons]
        raise InputError(
            f"--metric_for_best={metric}: is undefined, as {reasons[metric]}; give one of {', '.join(defined)}"
        )
    return metric


def _files(data: Data, settings: TrainingSettings) -> tuple[str, ...]:
    best = (BEST, BEST_FILE) if settings.early_stopping.eval_every else ()
    events = (EVENTS,) if settings.saving.tensorboard else ()
    tracking = (TRACKING,) if settings.saving.report_to else ()
    adapter = (ADAPTER_CONFIG, ADAPTER_WEIGHTS) if settings.rates.lora else ()
    optional_files = (*best, *events, *tracking, *adapter)
    return (*data.prediction_files, *data.evaluation_files, EVAL_EXAMPLES, HISTORY, PAGE, *optional_files)
