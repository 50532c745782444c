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
from bert_cli.base.names import EVAL_RESULTS, FLAGS
from bert_cli.outputs.eval_results import format_eval_results, write_eval_results
from bert_cli.runs import folder as run_folder
from bert_cli.runs import lock
from bert_cli.runs.checkpoint_choice import choose_checkpoint
from bert_cli.runs.manifest import COMMAND
from bert_cli.runs.model_checks import check_unknown
from bert_cli.runs.task import Model, Task, TrainingSettings
from bert_cli.settings.groups import Hub, Prediction
from bert_cli.settings.option import deciding
from bert_cli.settings.saved import flags_to_save, write_flags
from bert_cli.training.factors import FROZEN_ENCODER, rate_factors
from bert_cli.training.host import prepare_host
from bert_cli.training.updates import Updates
from bert_cli.weights.path import CheckpointPath, find_checkpoint, step_number

if TYPE_CHECKING:
    from bert_cli.runs.session import Session

LOG = logging.getLogger("bert_cli")


def run(task: Task[Model], settings: TrainingSettings) -> dict[str, Any]:
    """Do what the phases say; returns the report, which is also written to run_report.json."""
    began, phases = time.monotonic(), settings.phases
    does_predict = getattr(settings, "prediction", Prediction()).do_predict
    folder = phases.output_dir
    files.check_can_write(folder, "output_dir")
    seen = lock.check_free(folder, settings.devices.distribution_strategy)
    checkpoint = choose_checkpoint(settings.start, settings.model, getattr(settings, "hub", Hub()), phases)
    with contextlib.ExitStack() as stack:
        model = task.open(checkpoint)
        task.read(model, stack)
        if model.vocabulary:
            for split, sequences in task.sequences().items():
                check_unknown(split, sequences, model.vocabulary, settings.model.strict)
        plan = _Planned.make(task, model, settings, checkpoint) if phases.do_train else None
        results = (EVAL_RESULTS, *task.evaluation_files) * phases.do_eval + task.files * does_predict
        if not plan:
            run_folder.check_results(folder, results)
        task.show_examples(model, EXAMPLES[LOG.isEnabledFor(logging.DEBUG)])

        # From here on TensorFlow is needed, which takes seconds: what can be wrong with flags and data has been said.
        stack.enter_context(lock.held(folder, settings.devices.distribution_strategy, task.command, seen))
        session = open_session(task, model, settings)
        report = {**task.facts(), "precision": session.precision}
        report |= train_or_load(task, session, model, plan, settings)
        files.make_directory(folder)
        if phases.do_eval:
            report |= evaluate(task, session, folder, report["global_step"])
        if does_predict:
            report |= task.predict(session)
        report["total_seconds"] = round(time.monotonic() - began, 3)
        if session.is_chief:
            run_folder.write_report(folder, report, results)
    return report


def open_session(task: Task[Model], model: Model, settings: TrainingSettings) -> "Session":
    """The task's model on its devices, with random weights. Imports TensorFlow."""
    prepare_host()
    from bert_cli.runs.session import Session

    batch_size = settings.training.train_batch_size if settings.phases.do_train else None
    return Session(
        lambda compute_dtype: task.make_model(model, compute_dtype),
        settings.devices,
        settings.length.max_seq_length,
        batch_size,
    )


@dataclasses.dataclass(frozen=True)
class _Planned:
    """A training run: its manifest, what flags.txt will say, and the checkpoint that it goes on from, if there is one."""

    updates: Updates
    manifest: dict[str, Any]
    flags: dict[str, str]
    labels: tuple[str, ...] | None
    state: str | None

    @staticmethod
    def make(
        task: Task[Model], model: Model, settings: TrainingSettings, checkpoint: CheckpointPath | None
    ) -> "_Planned":
        """InputError where output_dir holds another run."""
        plan, phases = task.plan(model), settings.phases
        # All that decides the result of training: a run with another manifest is another run.
        manifest = {COMMAND: task.command} | deciding(settings) | plan.decided
        manifest |= run_folder.model_manifest(model.config, model.sources.vocab_file, model.sources.checkpoint)
        state = run_folder.find_state(
            phases.output_dir,
            manifest,
            phases.overwrite_output_dir,
            checkpoint,
            _files(task),
            deciding(type(settings)()),
            settings.model.strict,
        )
        updates = Updates(
            steps=plan.steps,
            warmup_steps=plan.warmup_steps,
            learning_rate=settings.training.learning_rate,
            batch_size=settings.training.train_batch_size,
            random_seed=settings.seed.random_seed,
            optimizer=plan.optimizer,
            bias_correction=plan.bias_correction,
        )
        return _Planned(updates, manifest, flags_to_save(settings, plan.found), plan.labels, state)

    @property
    def finished(self) -> str | None:
        """The last checkpoint where nothing is left to train, else None."""
        return self.state if self.state is not None and step_number(self.state) >= self.updates.steps else None


def train_or_load(
    task: Task[Model], session: "Session", model: Model, plan: _Planned | None, settings: TrainingSettings
) -> dict[str, Any]:
    """Train what the plan says, or take a trained model where there is no plan, or nothing left to train.

    Returns figures for the report, `global_step` among them.
    """
    folder, finished = settings.phases.output_dir, plan.finished if plan else None
    if plan and finished is None:
        session.load_initial(model.sources.checkpoint, model.sources.is_builtin, plan.state)
        session.check_agreement({"the first step": step_number(plan.state) if plan.state else 0} | plan.manifest)
        if session.is_chief and plan.state:
            run_folder.remove_leftovers(folder)
        elif session.is_chief:
            run_folder.begin(
                folder, plan.manifest, plan.labels, model.config, model.sources.vocab_file, plan.flags, _files(task)
            )
        # Which variables are trained, and how fast, is one table for all tasks.
        factors = rate_factors(session.variables, FROZEN_ENCODER if task.freezes_encoder else {})
        figures = task.train(
            session, updates=plan.updates, saving=settings.saving, folder=folder, state=plan.state, factors=factors
        )
        if session.is_chief and plan.state:
            write_flags(os.path.join(folder, FLAGS), plan.flags)  # a run may have been made longer
        return figures
    if finished is not None:
        LOG.info(
            "%s: training is already finished (%d steps); --overwrite_output_dir trains anew",
            folder, step_number(finished),
        )  # fmt: skip
    checkpoint = model.sources.required_checkpoint if finished is None else find_checkpoint(finished)
    return {"global_step": session.load_trained(checkpoint)}


def _files(task: Task[Model]) -> tuple[str, ...]:
    return (*task.files, *task.evaluation_files)


def evaluate(task: Task[Model], session: "Session", folder: str, global_step: int) -> dict[str, Any]:
    """Write eval_results.txt and log it; returns entries of the report."""
    found = task.evaluate(session)
    results = found.results | {"global_step": global_step}
    if session.is_chief:
        write_eval_results(os.path.join(folder, EVAL_RESULTS), results)
    for line in (*format_eval_results(results), *found.lines):
        LOG.log(RESULT, line)
    plain = {name: value if isinstance(value, int) else float(value) for name, value in results.items()}
    return found.report | {"eval": plain | found.report.get("eval", {})}
