"""Predictions for several files of --predict_file, and the shard plan that new_texts.py shares."""

import contextlib
import dataclasses
import json
import os
from collections.abc import Sequence
from typing import Any

from bert_cli.base import files
from bert_cli.flags.option import flag_values, replace_values
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.checkpoints import run_folders
from bert_cli.runs.loading.checks import PairCheck, check_unknown
from bert_cli.runs.output_dir import shards
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.settings.classification import ClassifySettings

# Flags that change the predictions, besides the model's files.
TEXT_FLAGS = ("max_seq_length", "long_text", "gelu", "precision", "hub_module")
TABLE_FLAGS = (
    *TEXT_FLAGS, "task_name", "output_format", "header", "predict_header", "quoting", "text_column", "text_b_column",
    "id_column", "choice_columns", "label_separator",
)  # fmt: skip


def without_workers(settings: ClassifySettings) -> ClassifySettings:
    """Return the settings for a shard, which one process predicts; see Devices.without_workers."""
    return dataclasses.replace(settings, devices=settings.devices.without_workers())


def plan_shards(
    settings: ClassifySettings,
    model: AnyModel,
    data: ClassificationDataset,
    file_flags: tuple[str, str],
    output_names: Sequence[str],
    deciding_flags: Sequence[str],
) -> shards.ShardPlan:
    """Return the plan for several input files; see shards.ShardPlan.

    Args:
        settings: the run's flags.
        model: the trained model.
        data: dataset with the decoder.
        file_flags: the flags for input files and for outputs.
        output_names: output paths without shards; each shard gets paths derived from them.
        deciding_flags: flags that change the predictions.
    """
    values = flag_values(settings)
    facts = {name: values[name] for name in deciding_flags} | model.fingerprint
    facts |= {"problem_type": data.problem_type.name, "labels": ",".join(data.labels) or None}
    if data.decoder.labels.thresholds is not None:
        facts["threshold"] = ",".join(map(str, data.decoder.labels.thresholds))
    if data.decoder.calibration:
        facts["calibration"] = json.dumps(data.decoder.calibration.facts(data.decoder.temperature_names))
    return shards.ShardPlan(values, file_flags, output_names, facts, model.required_checkpoint.file)


def predict_shards(settings: ClassifySettings) -> dict[str, Any]:
    """Write the tables of --do_predict for each file of --predict_file; return the number of files.

    There is no report and no lock, because other processes write shards to the same output_dir.
    """
    folder = settings.phases.output_dir
    files.check_can_write(folder, "output_dir")
    task = ClassificationTask(settings)
    model = opening.load_task_model(task, settings)
    checkpoint = model.required_checkpoint
    empty_data = task.make_empty_dataset(model, task.trained_labels(model), [folder, *run_folders(checkpoint)])
    files.make_directory(folder)
    # From these paths for a single file, the plan derives the paths for each shard.
    output_names = [os.path.join(folder, name) for name in empty_data.table_names("test")]
    plan = plan_shards(settings, model, empty_data, ("predict_file", "output_dir"), output_names, TABLE_FLAGS)
    shards_to_do = plan.find_unfinished()
    check_pairs = PairCheck(model.config, model.config_name, settings.model.strict)
    session = None
    for shard in plan.iterate(shards_to_do):
        shard_task = ClassificationTask(replace_values(settings, {"predict_file": shard.source}))
        with contextlib.ExitStack() as stack:
            data = shard_task.read(model, stack)
        split = data.splits["test"]
        check_unknown("test", split.features.sequences, model.vocabulary, settings.model)
        check_pairs(split.features.sequences)
        # The session needs a dataset, so open it after reading the first shard.
        session = session or opening.open_trained(shard_task, model, data, without_workers(settings))
        predictions = data.decoder.infer(session, split.features, settings.inference.predict_batch_size, "predicting")
        data.write_predictions(shard.targets, split, predictions, data.decoder)
    return {"shards": len(shards_to_do)}
