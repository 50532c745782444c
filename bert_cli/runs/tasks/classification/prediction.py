"""A trained classifier on new data: --text and --explain, and the files of --input_file and --predict_file, see
runs/output_dir/shards.py.
"""

import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.glue import find_task
from bert_cli.examples.text_lines import TextLine, split_line
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.flags.option import changed, values_of
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.checkpoints import run_folders
from bert_cli.runs.loading.checks import check_unknown
from bert_cli.runs.loading.trained import trained_labels
from bert_cli.runs.output_dir import shards
from bert_cli.runs.tasks import interactive, opening
from bert_cli.runs.tasks.classification.data import check_submission
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset
from bert_cli.runs.tasks.classification.explanation import METHOD, coloured, explain
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.settings.classification import ClassifySettings

# What decides the numbers and is no file of the model.
_OF_TEXTS = ("max_seq_length", "long_text", "gelu", "precision", "hub_module")
_OF_TABLES = (
    *_OF_TEXTS, "task_name", "output_format", "header", "predict_header", "quoting", "text_column", "text_b_column",
    "id_column", "choice_columns", "label_separator",
)  # fmt: skip


def alone(settings: ClassifySettings) -> ClassifySettings:
    """See shards.alone."""
    return dataclasses.replace(settings, devices=shards.alone(settings.devices))


def _plan(
    settings: ClassifySettings,
    model: AnyModel,
    data: ClassificationDataset,
    flags: tuple[str, str],
    names: Sequence[str],
    deciding: Sequence[str],
) -> shards.ShardPlan:
    values, checkpoint = values_of(settings), model.required_checkpoint
    facts = {name: values[name] for name in deciding} | model.fingerprint
    facts |= {"problem_type": data.problem_type.name, "labels": ",".join(data.labels) or None}
    if data.answers.labels.thresholds is not None:
        facts["threshold"] = ",".join(map(str, data.answers.labels.thresholds))
    shard, strategy = settings.files.shard, settings.devices.distribution_strategy
    source, target = flags
    return shards.ShardPlan.make(values[source], source, names, target, facts, checkpoint, shard, strategy)


def predict_shards(settings: ClassifySettings) -> dict[str, Any]:
    """Write the tables of --do_predict for each file of --predict_file; returns how many there were.

    There is no report, and no lock: other processes work in the same output_dir, on other shards.
    """
    folder = settings.phases.output_dir
    check_submission(settings)
    files.check_can_write(folder, "output_dir")
    task = ClassificationTask(settings)
    model = opening.load_task_model(task, settings)
    checkpoint = model.required_checkpoint
    labels = trained_labels(settings.encoding.labels or (), checkpoint)
    whole = task.for_new_texts(model, labels, [folder, *run_folders(checkpoint)])
    files.make_directory(folder)
    # The names of a run that is not sharded, from which the plan makes those of each shard.
    names = [os.path.join(folder, name) for name in whole.names("test")]
    plan = _plan(settings, model, whole, ("predict_file", "output_dir"), names, _OF_TABLES)
    todo, session = plan.todo(), None
    for shard in plan.each(todo):
        part = ClassificationTask(changed(settings, {"predict_file": shard.source}))
        with contextlib.ExitStack() as stack:
            data = part.read(model, stack)
        split = data.splits["test"]
        check_unknown("test", split.features.sequences, model.vocabulary, settings.model)
        # Only now, as the session needs a dataset; it serves all further shards.
        session = session or opening.open_trained(part, model, data, alone(settings))
        found = session.infer(split.features, settings.inference.predict_batch_size, "predicting")
        data.write_predictions(shard.targets, split, found, data.answers)
    return {"shards": len(todo)}


def answer_texts(settings: ClassifySettings) -> dict:
    """Classify --text, --explain or the lines of --input_file with a trained model; returns what the report would say."""
    source, target, explained = settings.files.input_file, settings.files.output_file, settings.new.explain
    text = settings.new.text or explained
    is_sharded = files.is_pattern(source)
    if not is_sharded:
        interactive.check_files(source, target)
    task = ClassificationTask(settings)
    model = opening.load_task_model(task, settings)
    checkpoint = model.required_checkpoint
    problem_type = task.trained_problem_type(model)
    if problem_type.has_endings:
        raise InputError(
            f"--{'text' if text else 'input_file'}: the model in {checkpoint.folder} chooses one of several endings; give the "
            "texts with their endings as a --predict_file, with --do_predict"
        )
    labels = trained_labels(settings.encoding.labels or (), checkpoint)
    if not labels and settings.task.task_name:
        labels = find_task(settings.task.task_name).labels
    if not labels and problem_type.has_named_outputs:
        raise InputError(f"{checkpoint.folder}: has no labels.txt, so the labels are not known; give --labels")
    data = task.for_new_texts(model, labels, run_folders(checkpoint))
    # Before TensorFlow is imported: another process may have done all shards already.
    plan = None
    if is_sharded:
        plan = _plan(settings, model, data, ("input_file", "output_file"), [target], _OF_TEXTS)
    todo = plan.todo() if plan else []
    if plan and not todo:
        return data.facts()
    lines = [TextLine(0, text, settings.new.text_b or None)] if text else []
    _features(lines, data)  # what cannot be packed is said before TensorFlow takes its seconds
    session = opening.open_trained(task, model, data, alone(settings) if plan else settings)

    def answer(chunk: Sequence[TextLine], check: Callable[[RaggedFeatures], None]) -> Iterator[dict]:
        features = _features(chunk, data)
        check(features.sequences)
        numbers = session.infer(features, settings.inference.predict_batch_size, None)
        for row, line in enumerate(chunk):
            pair = {} if line.text_b is None else {"text_b": line.text_b}
            yield {"text": line.text_a} | pair | problem_type.record(numbers, row, data.answers.labels)

    def answer_file(source: str, target: str, may_be_empty: bool = False) -> None:
        check = interactive.unknown_check(source, model.vocabulary, settings.model)
        interactive.answer_lines(
            source, target, lambda chunk: answer([split_line(line) for line in chunk], check), may_be_empty
        )

    if explained:
        texts, batch_size = (explained, settings.new.text_b or None), settings.inference.predict_batch_size
        record = explain(session, data, texts, batch_size)
        if session.is_chief:
            _show({"text": explained} | ({"text_b": texts[1]} if texts[1] else {}) | record)
    elif plan:
        for shard in plan.each(todo):
            answer_file(shard.source, shard.targets[0], may_be_empty=True)
    elif source:
        answer_file(source, target)
    elif session.is_chief:
        # What is typed is not checked for unknown words, see interactive.unknown_check.
        record = next(answer(lines, lambda sequences: None))
        print(json.dumps({"index": 0} | record, ensure_ascii=False), flush=True)
    return data.facts()


def _show(record: dict) -> None:
    """In colours where somebody looks, else as JSON."""
    if sys.stdout.isatty():
        from rich.console import Console

        Console().print(coloured(record))
    else:
        print(json.dumps(record | {"method": METHOD}, ensure_ascii=False), flush=True)


def _features(lines: Sequence[TextLine], data: ClassificationDataset) -> ClassificationFeatures:
    examples = [ClassificationExample(str(number), line.text_a, line.text_b, None) for number, line in enumerate(lines)]
    return data.features(examples)
