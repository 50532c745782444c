"""A trained classifier on several files of --predict_file; and what these and new_texts.py share."""

import contextlib
import dataclasses
import json
import os
from collections.abc import Sequence
from typing import Any

from bert_cli.base import files
from bert_cli.flags.option import changed, values_of
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.checkpoints import run_folders
from bert_cli.runs.loading.checks import PairCheck, check_unknown
from bert_cli.runs.output_dir import shards
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset
from bert_cli.runs.tasks.classification.flag_checks import check_submission
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.settings.classification import ClassifySettings

# What decides the numbers and is no file of the model.
OF_TEXTS = ("max_seq_length", "long_text", "gelu", "precision", "hub_module")
OF_TABLES = (
    *OF_TEXTS, "task_name", "output_format", "header", "predict_header", "quoting", "text_column", "text_b_column",
    "id_column", "choice_columns", "label_separator",
)  # fmt: skip


def alone(settings: ClassifySettings) -> ClassifySettings:
    """See Devices.alone."""
    return dataclasses.replace(settings, devices=settings.devices.alone())


def shard_plan(
    settings: ClassifySettings,
    model: AnyModel,
    data: ClassificationDataset,
    flags: tuple[str, str],
    names: Sequence[str],
    deciding: Sequence[str],
) -> shards.ShardPlan:
    """The plan of several input files; see shards.ShardPlan. flags: of the files to read and of the
    outputs `names`; deciding: the flags that decide the numbers.
    """
    values = values_of(settings)
    facts = {name: values[name] for name in deciding} | model.fingerprint
    facts |= {"problem_type": data.problem_type.name, "labels": ",".join(data.labels) or None}
    if data.answers.labels.thresholds is not None:
        facts["threshold"] = ",".join(map(str, data.answers.labels.thresholds))
    if data.answers.calibration:
        facts["calibration"] = json.dumps(data.answers.calibration.facts(data.answers.temperature_names))
    return shards.ShardPlan(values, flags, names, facts, model.required_checkpoint.file)


def predict_shards(settings: ClassifySettings) -> dict[str, Any]:
    """Write the tables of --do_predict for each file of --predict_file; returns how many there
    were.

    There is no report, and no lock: other processes work in the same output_dir, on other shards.
    """
    folder = settings.phases.output_dir
    check_submission(settings)
    files.check_can_write(folder, "output_dir")
    task = ClassificationTask(settings)
    model = opening.load_task_model(task, settings)
    checkpoint = model.required_checkpoint
    whole = task.for_new_texts(model, task.trained_labels(model), [folder, *run_folders(checkpoint)])
    files.make_directory(folder)
    # The names of a run that is not sharded, from which the plan makes the names of each shard.
    names = [os.path.join(folder, name) for name in whole.names("test")]
    plan = shard_plan(settings, model, whole, ("predict_file", "output_dir"), names, OF_TABLES)
    todo = plan.todo()
    check_pairs = PairCheck(model.config, model.config_name, settings.model.strict)
    session = None
    for shard in plan.each(todo):
        part = ClassificationTask(changed(settings, {"predict_file": shard.source}))
        with contextlib.ExitStack() as stack:
            data = part.read(model, stack)
        split = data.splits["test"]
        check_unknown("test", split.features.sequences, model.vocabulary, settings.model)
        check_pairs(split.features.sequences)
        # Only now, as the session needs a dataset; it serves all further shards.
        session = session or opening.open_trained(part, model, data, alone(settings))
        found = data.answers.infer(session, split.features, settings.inference.predict_batch_size, "predicting")
        data.write_predictions(shard.targets, split, found, data.answers)
    return {"shards": len(todo)}
