"""One run of any command that trains: read, plan, train or go on, evaluate, predict, report.

A task brings its data, its head, its metrics and its files; what every run does with them is written here, once.
"""

import contextlib
import dataclasses
import logging
import os
import time
from typing import TYPE_CHECKING, Any

from bert_cli.base import files
from bert_cli.base.log import EXAMPLES, RESULT
from bert_cli.base.names import BEST, BEST_FILE, EVAL_EXAMPLES, EVAL_RESULTS, EVENTS, FLAGS, HISTORY, PAGE
from bert_cli.flags.option import deciding
from bert_cli.flags.saved import flags_to_save, write_flags
from bert_cli.metrics.selection import find_metric
from bert_cli.outputs.eval_results import format_eval_results, write_eval_results
from bert_cli.outputs.history import History
from bert_cli.report import page
from bert_cli.runs.dry_run import survey, try_out
from bert_cli.runs.early_stopping import Watch, interval
from bert_cli.runs.engine import worker_failure
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.int8_comparison import evaluate_whole, tell_cost
from bert_cli.runs.loading.checks import check_unknown
from bert_cli.runs.output_dir import lock, run_folder
from bert_cli.runs.output_dir.extension import PLAN_FROM, STEPS, STOPPED, plan_start, plan_warmup
from bert_cli.runs.output_dir.manifest import COMMAND, read_manifest
from bert_cli.runs.reporting import finish, keep_examples, run_facts
from bert_cli.runs.sweep import sweep
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.interface import Model, Task
from bert_cli.runs.tasks.opening import open_model, open_predictor, open_session
from bert_cli.runs.tensorboard import Events
from bert_cli.settings.devices import INT8
from bert_cli.settings.early_stopping import check_watching
from bert_cli.settings.sweep import is_several
from bert_cli.settings.training import TrainingSettings
from bert_cli.training.hyperparameters import Updates
from bert_cli.weights.path import CheckpointPath, find_checkpoint, step_number

if TYPE_CHECKING:
    from bert_cli.runs.engine.session import Session

LOG = logging.getLogger("bert_cli")


def run(task: Task[Model], settings: TrainingSettings) -> dict[str, Any]:
    """Do what the phases say; returns the report, which is also written to run_report.json."""
    if is_several(settings):
        report = sweep.run(task, settings, run)
        finish(settings.phases.output_dir, settings.page)
        return report
    began, phases = time.monotonic(), settings.phases
    does_predict = settings.inference.do_predict
    folder = phases.output_dir
    check_watching(settings.watching, phases.do_train, phases.do_eval)
    files.check_can_write(folder, "output_dir")
    seen = lock.check_free(folder, settings.devices.distribution_strategy)
    with contextlib.ExitStack() as stack:
        checkpoint, model = open_model(task, settings)
        if phases.do_train:
            controls.check(settings, model.config, task.freezes_encoder)
        task.read(model, stack)
        if model.vocabulary:
            for split, sequences in task.sequences().items():
                check_unknown(split, sequences, model.vocabulary, settings.model.strict)
        plan = _Planned.make(task, model, settings, checkpoint) if phases.do_train else None
        results = (EVAL_RESULTS, EVAL_EXAMPLES, *task.evaluation_files) * phases.do_eval + task.files * does_predict
        if not plan:
            run_folder.check_results(folder, results)
        task.show_examples(model, EXAMPLES[LOG.isEnabledFor(logging.DEBUG)])

        reading = time.monotonic() - began
        if settings.phases.dry_run:
            survey(task, model, settings.encoding.max_seq_length)
        # From here on TensorFlow is needed, which takes seconds: what can be wrong with flags and data has been said.
        ready = time.monotonic()
        if not settings.phases.dry_run:
            stack.enter_context(lock.held(folder, settings.devices.distribution_strategy, task.command, seen))
        stack.enter_context(worker_failure.others_watched(settings.devices.distribution_strategy))
        has_news = phases.do_eval or (plan is not None and plan.finished is None)
        session: Predictor
        if plan:
            session = trained = open_session(task, model, settings)
            if settings.phases.dry_run:
                done = step_number(plan.state) if plan.state else 0
                factors = controls.prepare(trained, task, model, settings, plan.class_weights)
                return try_out(task, trained, model, plan.updates, factors, done, plan.watch, settings, reading, ready)
            figures = {"metric": plan.metric} | train_or_take(task, trained, model, plan, settings)
        else:
            session = open_predictor(task, model, settings)
            figures = {"global_step": session.load_trained(model.sources.required_checkpoint)}
        report = {**task.facts(), "precision": session.precision, **figures}
        files.make_directory(folder)
        if phases.do_eval:
            # First, as an evaluation leaves what predictions read, such as thresholds.
            whole = evaluate_whole(task, model, settings) if session.precision == INT8 else None
            report |= evaluate(task, session, settings, report["global_step"], plan.history if plan else None)
            if whole:
                tell_cost(task.command, task.metrics[0], whole, report["eval"])
        if does_predict:
            report |= task.predict(session)
        report |= run_facts(session, task.sequences())
        report["total_seconds"] = round(time.monotonic() - began, 3)
        if session.is_chief:
            run_folder.write_report(folder, report, results)
            finish(folder, settings.page, has_news)
    return report


@dataclasses.dataclass(frozen=True)
class _Planned:
    """A training run: its manifest, what flags.txt will say, the checkpoint that it goes on from, if there is one, its history
    up to there, what evaluations on the way decide, and by which metric it is compared."""

    updates: Updates
    manifest: dict[str, Any]
    flags: dict[str, str]
    labels: tuple[str, ...] | None
    class_weights: tuple | None
    state: str | None
    history: History
    watch: Watch | None
    metric: str

    @staticmethod
    def make(
        task: Task[Model], model: Model, settings: TrainingSettings, checkpoint: CheckpointPath | None
    ) -> "_Planned":
        """InputError where output_dir holds another run."""
        plan, phases, watching = task.plan(model), settings.phases, settings.watching
        training, metric = settings.training, find_metric(watching.metric_for_best, task.metrics)
        # All that decides the result of training: a run with another manifest is another run.
        manifest = {COMMAND: task.command} | deciding(settings) | plan.decided
        manifest |= run_folder.model_manifest(model.config, model.sources.vocab_file, model.sources.checkpoint)
        manifest |= {STEPS: plan.steps, PLAN_FROM: 0}
        state = run_folder.find_state(
            phases.output_dir,
            manifest,
            phases.overwrite_output_dir,
            checkpoint,
            _files(task, settings),
            deciding(type(settings)()),
            settings.model.strict,
        )
        done = step_number(state) if state else 0
        first = plan_start((read_manifest(phases.output_dir) or {}) if state else {}, plan.steps, done)
        history, watch = History(phases.output_dir, done), None
        if watching.eval_every:
            every = interval(watching.eval_every, plan.examples, training.train_batch_size)
            watch = Watch(watching, metric, every, first, phases.output_dir, history)
        updates = Updates(
            steps=plan.steps,
            warmup_steps=plan_warmup(plan.warmup_steps, plan.steps, first),
            learning_rate=training.learning_rate,
            batch_size=training.train_batch_size,
            random_seed=settings.seed.random_seed,
            bias_correction=plan.bias_correction,
            first_step=first,
            **controls.update_rules(settings),
        )
        flags, manifest = flags_to_save(settings, plan.found), manifest | {PLAN_FROM: first}
        return _Planned(updates, manifest, flags, plan.labels, plan.class_weights, state, history, watch, metric)

    @property
    def finished(self) -> str | None:
        """The last checkpoint where nothing is left to train, else None."""
        is_stopped = self.watch is not None and self.watch.is_stopped
        is_over = self.state is not None and (is_stopped or step_number(self.state) >= self.updates.steps)
        return self.state if is_over else None


def train_or_take(
    task: Task[Model], session: "Session", model: Model, plan: _Planned, settings: TrainingSettings
) -> dict[str, Any]:
    """Train what the plan says, or take the trained model where nothing is left to train.

    Returns figures for the report, `global_step` among them.
    """
    folder, finished, watch = settings.phases.output_dir, plan.finished, plan.watch
    if finished is None:
        figures = _train(task, session, model, plan, settings)
    else:
        figures = {"global_step": step_number(finished)}
        stopped = ", stopped early" if figures["global_step"] < plan.updates.steps else ""
        LOG.info(
            "%s: training is already finished (%d steps%s); --overwrite_output_dir trains anew",
            folder, figures["global_step"], stopped,
        )  # fmt: skip
        _open_history(plan, settings, session.is_chief)
        if watch is None:
            session.load_trained(find_checkpoint(finished))
    last_step = figures["global_step"]
    if session.is_chief and last_step <= plan.updates.steps:
        stopped_at = {STOPPED: last_step} if last_step < plan.updates.steps else {}
        run_folder.update_manifest(folder, plan.manifest | stopped_at, _files(task, settings))
    if watch:
        if session.is_chief:
            watch.settle()
        figures |= watch.load_best(session)
        figures |= {"last_step": last_step, "stopped_early": last_step < plan.updates.steps}
    return figures


def _train(
    task: Task[Model], session: "Session", model: Model, plan: _Planned, settings: TrainingSettings
) -> dict[str, Any]:
    """Begin, or go on; returns figures for the report."""
    folder, watch = settings.phases.output_dir, plan.watch
    session.load_initial(model.sources, settings.model.init_checkpoint, plan.state)
    session.check_agreement({"the first step": step_number(plan.state) if plan.state else 0} | plan.manifest)
    if session.is_chief and plan.state:
        run_folder.remove_leftovers(folder)
        run_folder.update_manifest(folder, plan.manifest, _files(task, settings))
        if watch:
            watch.settle()
    elif session.is_chief:
        names = _files(task, settings)
        run_folder.begin(folder, plan.manifest, plan.labels, model.config, model.sources.vocab_file, plan.flags, names)
    _open_history(plan, settings, session.is_chief)
    if settings.page.report:
        page.needed_later()
    factors = controls.prepare(session, task, model, settings, plan.class_weights)
    figures = task.train(
        session,
        updates=plan.updates,
        saving=settings.saving,
        folder=folder,
        state=plan.state,
        factors=factors,
        hooks=[watch.hook(lambda: task.evaluate(session).results, session, plan.updates.steps)] if watch else [],
        history=plan.history,
    )
    if session.is_chief and plan.state:
        write_flags(os.path.join(folder, FLAGS), plan.flags)  # a run may have been made longer
    return figures


def _open_history(plan: _Planned, settings: TrainingSettings, is_chief: bool) -> None:
    """Let the history of the run be written, with --tensorboard in both forms."""
    plan.history.open(is_chief, Events(settings.phases.output_dir) if settings.saving.tensorboard else None)


def _files(task: Task[Model], settings: TrainingSettings) -> tuple[str, ...]:
    """Names of what a training run writes beside the files of every run."""
    best = (BEST, BEST_FILE) if settings.watching.eval_every else ()
    events = (EVENTS,) if settings.saving.tensorboard else ()
    return (*task.files, *task.evaluation_files, EVAL_EXAMPLES, HISTORY, PAGE, *best, *events)


def evaluate(
    task: Task[Model],
    session: Predictor,
    settings: TrainingSettings,
    global_step: int,
    history: History | None = None,
) -> dict[str, Any]:
    """Write eval_results.txt and log it, and, of a training run, add it to its history; returns entries of the report."""
    folder, found = settings.phases.output_dir, task.evaluate(session)
    if history:
        history.add_evaluation(global_step, found.results)
    results = found.results | {"global_step": global_step}
    if session.is_chief:
        write_eval_results(os.path.join(folder, EVAL_RESULTS), results)
    for line in (*format_eval_results(results), *found.lines):
        LOG.log(RESULT, line)
    keep_examples(folder, found.examples if settings.page.report else None, session.is_chief)
    plain = {name: value if isinstance(value, int) else float(value) for name, value in results.items()}
    return found.report | {"eval": plain | found.report.get("eval", {})}
