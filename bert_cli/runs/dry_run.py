"""--dry_run: statistics of the data, and a few training steps that measure time and memory."""

import math
import time
from collections.abc import Mapping

from bert_cli.base.errors import InputError
from bert_cli.base.formats import byte_size
from bert_cli.base.head_types import parameters_line
from bert_cli.base.json_files import JsonObject
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
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.engine.disk_space import CheckpointPlan, check_space
from bert_cli.runs.tasks import controls
from bert_cli.runs.tasks.dataset import Dataset, token_sequences
from bert_cli.runs.tasks.interface import Data, Details, Model, Task
from bert_cli.runs.tasks.opening import open_network
from bert_cli.runs.training_plan import TrainingPlan
from bert_cli.runtime.machine import TENSORFLOW_BYTES, free_memory, has_gpu, machine_memory
from bert_cli.settings.training import TrainingSettings
from bert_cli.text.vocabulary import CLS, SEP, UNK

_DIGITS = {"MB": 0, "GB": 1}  # decimals for amounts of memory


def report_statistics(model: Model, data: Dataset, max_seq_length: int) -> None:
    """Log statistics for each split, and rows that occur in several splits."""
    LOG.log(RESULT, "***** Dry run *****")
    sequences = token_sequences(data)
    statistics = {name: split.statistics() for name, split in data.memory_splits.items()}
    for split, split_stats in statistics.items():
        lines = [
            f"{len(split_stats.texts)} rows",
            length_line(split_stats.lengths, split_stats.unit, max_seq_length),
        ]
        if model.optional_vocabulary and split in sequences:
            ids = model.vocabulary.ids
            lines.append(unknown_line(sequences[split], ids[UNK], (ids[CLS], ids[SEP])))
        for line in lines + repeated_lines(split_stats):
            LOG.log(RESULT, "  %s: %s", split, line)
    for line in leak_lines(statistics):
        LOG.log(RESULT, "  %s", line)


def count_inference_tokens(sequences: Mapping[str, RaggedFeatures], evaluations: int) -> int:
    """Return the number of tokens in evaluations and predictions.

    bert-pretrain does not keep its evaluation data in memory, so it is not counted.

    Args:
        sequences: split -> sequences.
        evaluations: number of evaluations during training. Another one follows after training.
    """
    total = 0
    for split, split_sequences in sequences.items():
        if split not in ("train", "unlabeled"):
            total += len(split_sequences.token_ids) * (1 if split.startswith("test") else 1 + evaluations)
    return total


def check_memory(weight_bytes: int, trains_encoder: bool) -> None:
    """Raise InputError if training cannot fit into the free memory, before anything is allocated.

    On a GPU, weights are in its own memory, which is not checked.

    Args:
        weight_bytes: bytes in the encoder's weights.
        trains_encoder: whether training changes all of them.
    """
    # Gradients and Adam's two moments are as large as the weights.
    needed = TENSORFLOW_BYTES + (4 if trains_encoder else 1) * weight_bytes
    free = free_memory()
    if needed > free and not has_gpu():
        raise InputError(
            f"--dry_run: training needs at least {byte_size(needed, **_DIGITS)} of memory for TensorFlow, weights, "
            f"gradients and Adam's moments; {byte_size(free, **_DIGITS)} of {byte_size(machine_memory(), **_DIGITS)} are free; "
            "a smaller model, --freeze_layers or more memory is needed"
        )


def forecast_run(
    task: Task[Model, Data, Details],
    model: Model,
    data: Data,
    plan: TrainingPlan,
    reading_seconds: float,
    ready_time: float,
) -> JsonObject:
    """Train a few steps, log a forecast for the whole run, and return it.

    Args:
        reading_seconds: seconds used for loading files and data.
        ready_time: time.monotonic() before TensorFlow was imported.
    """
    settings: TrainingSettings = task.settings
    weight_bytes = getattr(model.config, "weight_bytes", 0)  # unknown for a module for tensorflow-hub
    check_memory(weight_bytes, settings.rates.is_default and not controls.freezes_encoder(settings))
    engine = open_network(task, model, data, settings, plan.task_plan.class_weights, plan.updates.batch_size)
    # Import late: it imports TensorFlow, which open_network has set up.
    from bert_cli.runs.engine.initial_weights import load_initial
    from bert_cli.runs.engine.probe import probe

    LOG.log(RESULT, "  model: %s", parameters_line(engine.facts()["parameters"]))
    factors = controls.learning_rate_factors(
        engine.variables, model.config, settings.rates, controls.freezes_encoder(settings)
    )
    load_initial(engine, model, settings.model.init_checkpoint, None, plan.task_plan.run_labels(task.command))
    updates = plan.updates
    probe_result = probe(engine, task.training_input(data, None, False, False), updates, factors)
    start_seconds = time.monotonic() - ready_time - sum(probe_result.seconds) - probe_result.saving
    steps = max(0, updates.steps - plan.done_steps)
    sequences = token_sequences(data)
    epochs = updates.steps * updates.batch_size / max(1, len(sequences["train"]) if "train" in sequences else 1)
    inference_tokens = count_inference_tokens(sequences, plan.best.count(steps) if plan.best else 0)
    saves = -(-steps // settings.saving.save_checkpoints_steps)
    forecast = make_forecast(probe_result, steps, epochs, saves, inference_tokens, reading_seconds, start_seconds)
    if plan.done_steps:
        LOG.log(RESULT, "  %d of %d steps are trained already", plan.done_steps, updates.steps)
    passes = f"; passes over the training data: {epochs:.3g}" if "train" in sequences else ""
    LOG.log(RESULT, "  learning rate: %g at its peak%s", updates.learning_rate, passes)
    for line in forecast_lines(forecast, probe_result, steps, updates.batch_size):
        LOG.log(RESULT, "  %s", line)
    if probe_result.memory > machine_memory() and not has_gpu():
        LOG.warning(
            "warning: this is more than the memory of %s that this process may use", byte_size(machine_memory(), GB=1)
        )
    weights = sum(4 * math.prod(variable.shape) for variable in engine.variables.values())
    try:
        checkpoints = CheckpointPlan(
            probe_result.checkpoint_bytes, weights, saves, settings.saving, plan.best is not None
        )
        check_space(RunDirectory(settings.phases.output_dir), checkpoints)
    except InputError as error:
        LOG.warning("warning: without --dry_run this would be refused: %s", error)
    LOG.log(RESULT, "nothing was written; the run without --dry_run starts from the beginning")
    return {
        "steps": steps,
        "seconds": sum(forecast.values()),
        "parts": forecast,
        "memory": probe_result.memory,
    }
