"""--dry_run of any command that trains: a survey of its data, then a trial of its model; see
driver.run.
"""

import math
import time
from collections.abc import Mapping
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import parameters_line
from bert_cli.base.log import LOG, RESULT
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.outputs.dry_run import (
    forecast_lines,
    leak_lines,
    length_line,
    make_forecast,
    repeated_lines,
    unknown_line,
)
from bert_cli.runs.output_dir.disk_space import CheckpointPlan, check_space
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.dataset import Dataset
from bert_cli.runs.tasks.interface import Data, Model, Task
from bert_cli.runs.tasks.opening import open_session
from bert_cli.runs.training import TrainingPlan
from bert_cli.settings.training import TrainingSettings
from bert_cli.text.vocabulary import CLS, SEP, UNK


def report_statistics(model: Model, data: Dataset, max_seq_length: int) -> None:
    """Log what is in the splits and between them."""
    LOG.log(RESULT, "***** Dry run *****")
    sequences = data.sequences()
    statistics = data.statistics()
    for split, found in statistics.items():
        lines = [f"{len(found.texts)} rows", length_line(found.lengths, found.unit, max_seq_length)]
        if model.optional_vocabulary and split in sequences:
            ids = model.vocabulary.ids
            lines.append(unknown_line(sequences[split], ids[UNK], (ids[CLS], ids[SEP])))
        for line in lines + repeated_lines(found):
            LOG.log(RESULT, "  %s: %s", split, line)
    for line in leak_lines(statistics):
        LOG.log(RESULT, "  %s", line)


def computed_tokens(sequences: Mapping[str, RaggedFeatures], evaluations: int) -> int:
    """Tokens that are computed without being trained on: each split once, those that are evaluated
    also on the way.

    evaluations: on the way. What bert-pretrain evaluates is not held in memory, and not counted.
    """
    total = 0
    for split, found in sequences.items():
        if split not in ("train", "unlabeled"):
            total += len(found.token_ids) * (1 if split.startswith("test") else 1 + evaluations)
    return total


def try_out(
    task: Task[Model, Data],
    model: Model,
    data: Data,
    plan: TrainingPlan,
    settings: TrainingSettings,
    reading: float,
    began: float,
) -> dict[str, Any]:
    """Train a few steps, log what the run will take, and return it for a report that is not
    written.

    reading: seconds until TensorFlow was needed; began: when that was.
    """
    session = open_session(task, model, data, settings, plan.of_task.class_weights, plan.updates.batch_size)
    # Imports TensorFlow, which open_session has set up.
    from bert_cli.runs.engine.probe import probe

    LOG.log(RESULT, "  model: %s", parameters_line(session.parameters()))
    factors = controls.factors(session.variables, model.config, settings.rates, task.freezes_encoder)
    session.load_initial(model, settings.model.init_checkpoint, None)
    updates = plan.updates
    trial = probe(session, task.training_input(data, None, False, False), updates, factors)
    starting = time.monotonic() - began - sum(trial.seconds) - trial.saving
    steps = max(0, updates.steps - plan.done)
    sequences = data.sequences()
    epochs = updates.steps * updates.batch_size / max(1, len(sequences["train"]) if "train" in sequences else 1)
    others = computed_tokens(sequences, plan.best.count(steps) if plan.best else 0)
    saves = -(-steps // settings.saving.save_checkpoints_steps)
    forecast = make_forecast(trial, steps, epochs, saves, others, reading, starting)
    if plan.done:
        LOG.log(RESULT, "  %d of %d steps are trained already", plan.done, updates.steps)
    passes = f"; passes over the training data: {epochs:.3g}" if "train" in sequences else ""
    LOG.log(RESULT, "  learning rate: %g at its peak%s", updates.learning_rate, passes)
    for line in forecast_lines(forecast, trial, steps, updates.batch_size):
        LOG.log(RESULT, "  %s", line)
    weights = sum(4 * math.prod(variable.shape) for variable in session.variables.values())
    try:
        checkpoints = CheckpointPlan(trial.checkpoint_bytes, weights, saves, settings.saving, plan.best is not None)
        check_space(settings.phases.output_dir, checkpoints)
    except InputError as error:
        LOG.warning("warning: without --dry_run this would be refused: %s", error)
    LOG.log(RESULT, "nothing was written; the run without --dry_run starts from the beginning")
    return {
        "steps": steps,
        "seconds": sum(forecast.values()),
        "parts": forecast,
        "memory": trial.memory,
    }
