"""Predictions for new texts: --text, --explain, --input_file, and several files of --predict_file."""

import contextlib
import dataclasses
import json
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.base.lines import input_name
from bert_cli.examples.classification import ClassificationExample
from bert_cli.examples.table_texts import make_text_lines
from bert_cli.examples.text_lines import TextLine, make_pair_check, split_line
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.packing import NOT_CUT, CutCounts, cut_entry, warn_cuts
from bert_cli.features.row_batches import CHUNK
from bert_cli.flags.option import flag_values, prediction_values, replace_values
from bert_cli.inference.rows import Predictor
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.checks import PairCheck, check_unknown
from bert_cli.opening.paths import find_members, run_folders
from bert_cli.opening.trained import num_trained_texts, read_trained_columns
from bert_cli.predicting.ensemble import average, label_order, mean_decoder, reorder
from bert_cli.predicting.explanation import text_record
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.parts import PredictionArrays
from bert_cli.reading.formats import is_table
from bert_cli.runs.engine import shards
from bert_cli.runs.tasks import interactive, opening
from bert_cli.runs.tasks.averaging import member_settings
from bert_cli.runs.tasks.classification.data import find_trained_type
from bert_cli.runs.tasks.classification.dataset import (
    ClassificationDataset,
    encode_texts,
    make_empty_dataset,
    prediction_tables,
)
from bert_cli.runs.tasks.classification.explanation import print_explanation
from bert_cli.runs.tasks.classification.splits import NEW_TEXTS, Inputs, KnownLabels, read_split
from bert_cli.runs.tasks.classification.task import (
    ClassificationTask,
    find_trained_labels,
)
from bert_cli.runtime.streams import print_text
from bert_cli.settings.classification import REPLACED_FLAGS, ClassifySettings

_Check = Callable[[Sequence[TextLine], ClassificationFeatures], None]


def classify_texts(settings: ClassifySettings) -> dict:
    """Classify --text, --explain or the lines of --input_file; return the facts for a report."""
    folders = find_members(settings.ensemble.ensemble)
    ensemble, settings = settings, member_settings(settings, folders[0], REPLACED_FLAGS) if folders else settings
    source, target = settings.files.input_file, settings.files.output_file
    is_sharded = files.is_pattern(source)
    if not is_sharded:
        interactive.check_files(source, target)
    task = ClassificationTask(settings)
    model = opening.load_task_model(task, settings)
    data = _dataset(settings, model)
    num_texts = num_trained_texts(model, settings.task.task_name)
    lines = [_text_of_flags(settings, model, num_texts)] if not source else []
    if is_table(source) and not is_sharded:
        lines = _read_table(settings, model, data, source)
    # Plan before importing TensorFlow: other processes may have done all shards already.
    plan = None
    if is_sharded:
        plan = plan_label_shards(settings, model, data, ("input_file", "output_file"), [target], is_table(source))
    shards_to_do = plan.find_unfinished() if plan else []
    if plan and not shards_to_do:
        return data.facts()
    # Encode the first texts for their errors, before TensorFlow takes seconds to import.
    _features(lines[:CHUNK], data)
    if plan:
        settings = dataclasses.replace(settings, devices=settings.devices.without_workers())
    predictor = opening.open_task_for_new_texts(task, model, data, settings, many=settings.files.come_together)
    classifier = _TextClassifier(settings, model, data, predictor, num_texts)
    if folders:
        later_members = [_open_member(member_settings(ensemble, folder, REPLACED_FLAGS)) for folder in folders[1:]]
        classifier = _mean_classifier(folders, [classifier, *later_members])
    if plan:
        for shard in plan.iterate(shards_to_do):
            classifier.classify_file(shard.source, shard.targets[0], may_be_empty=True)
    elif is_table(source):
        classifier.classify_table(lines, source, target)
    elif source:
        classifier.classify_file(source, target)
    elif settings.new.explain:
        print_explanation(predictor, data, lines[0], settings.inference.predict_batch_size)
    elif predictor.is_chief:
        # Do not check typed texts for unknown words, see interactive.make_unknown_check.
        chunk_cuts: list[CutCounts] = []
        record = next(classifier.classify(lines, lambda _, features: chunk_cuts.append(features.cuts)))
        classifier.warn_cuts(chunk_cuts[0], "--text")
        print_text(json.dumps({"index": 0} | record, ensure_ascii=False))
    return data.facts()


def _dataset(settings: ClassifySettings, model: AnyModel) -> ClassificationDataset:
    """Return a dataset without rows, with a trained model's labels.

    Raise InputError for a multiple-choice model, and for a model with unknown labels.
    """
    checkpoint = model.required_checkpoint
    problem_type = find_trained_type(settings, model)
    flag = f"--{'input_file' if settings.files.input_file else 'text'}: {checkpoint.folder}"
    require(
        problem_type.text_answers, flag, "; give the texts with their endings as a --predict_file, with --do_predict"
    )
    labels = find_trained_labels(settings, model)
    if labels is None:
        raise model.head.unknown_labels()
    return make_empty_dataset(settings, model, labels, run_folders(checkpoint))


def _read_table(settings: ClassifySettings, model: AnyModel, data: ClassificationDataset, path: str) -> list[TextLine]:
    """Return the texts in a table, which has the same columns as a --predict_file.

    Args:
        model: the trained model, which knows its training columns.
        data: dataset with the labels.
        path: the table.
    """
    inputs = Inputs(settings, {}, read_trained_columns(model, settings.columns, settings.task.task_name))
    labels = KnownLabels(data.decoder.problem_type, data.decoder.labels.names or None)
    split = read_split(inputs, NEW_TEXTS, path, labels)
    examples = [example for example in split.examples if isinstance(example, ClassificationExample)]
    ids = [example.guid for example in examples] if split.has_ids else None
    return make_text_lines([(example.text_a, example.text_b) for example in examples], ids)


def _text_of_flags(settings: ClassifySettings, model: AnyModel, num_texts: int | None) -> TextLine:
    """Return the text or pair from the flags; without --text_b, a text is read as a line is.

    Args:
        model: the trained model, for error messages.
        num_texts: texts per row in the training data, None if unknown.

    Raises:
        InputError: a single text for a model of pairs, or a pair for a model of single texts.
    """
    new = settings.new
    folder = model.required_checkpoint.folder
    refuse_if(
        num_texts == 1 and new.text_b,
        f"--text_b: the model in {folder} was trained on single texts; leave it out",
    )
    text = new.text or new.explain
    pair = split_line(text, takes_pairs=num_texts != 1 and not new.text_b)
    # Keep the white space of a single text, as in a table.
    line = TextLine(0, text, new.text_b or None) if pair.text_b is None else pair
    refuse_if(
        num_texts == 2 and line.text_b is None,
        f"--text: the model in {folder} was trained on pairs of texts; give the second one with --text_b",
    )
    return line


@dataclasses.dataclass(frozen=True)
class _TextClassifier:
    """An opened classifier that writes predictions for new texts.

    Attributes:
        settings: the run's flags.
        model: the trained model's files.
        data: dataset without rows, which has decoder and tokenizer.
        predictor: the opened model.
        num_texts: texts per row in the training data, None if unknown; see num_trained_texts.
    """

    settings: ClassifySettings
    model: AnyModel
    data: ClassificationDataset
    predictor: Predictor
    num_texts: int | None

    def classify(self, lines: Sequence[TextLine], check: _Check) -> Iterator[dict[str, Any]]:
        """Yield a record per text for JSON, after `check` was called with texts and features."""
        features = _features(lines, self.data)
        check(lines, features)
        predictions = self.predict(lines, features)
        answers, labels = require(self.data.decoder.problem_type.text_answers, "--text"), self.data.decoder.labels
        for row, (line, num_cut) in enumerate(zip(lines, features.cut_tokens.tolist(), strict=True)):
            record = {} if line.identifier is None else {"id": line.identifier}
            record |= text_record(line.text_a, line.text_b) | answers.record(predictions, row, labels)
            yield record | cut_entry(num_cut)

    def predict(self, lines: Sequence[TextLine], features: ClassificationFeatures) -> PredictionArrays:
        """Return the predictions for texts and their features."""
        return self.data.decoder.infer(self.predictor, features, self.settings.inference.predict_batch_size, None)

    def classify_file(self, source: str, target: str, may_be_empty: bool = False) -> None:
        """Write predictions for lines in a text file, or for rows in a table.

        Args:
            source: path to read, or - for standard input.
            target: path to write, or - for standard output.
            may_be_empty: whether a source without lines is allowed.
        """
        if is_table(source):
            self.classify_table(_read_table(self.settings, self.model, self.data, source), source, target)
            return
        chunk_cuts: list[CutCounts] = []
        reader = interactive.ChunkReader(source, self.settings.files.line_buffered)
        check = self._check(source, chunk_cuts, reader)
        encoding = self.settings.text_files.encoding

        def answer(chunk: Sequence[str]) -> Iterator[dict[str, Any]]:
            return self.classify([split_line(line, takes_pairs=self.num_texts != 1) for line in chunk], check)

        interactive.predict_lines(source, target, answer, encoding, reader, may_be_empty)
        self.warn_cuts(sum(chunk_cuts, NOT_CUT), input_name(source))

    def classify_table(self, lines: Sequence[TextLine], source: str, target: str) -> None:
        """Write predictions for table rows, `lines`, to `target`; warnings name the file `source`."""
        chunk_cuts: list[CutCounts] = []
        check = self._check(source, chunk_cuts)
        interactive.predict_items(iter(lines), target, lambda chunk: self.classify(chunk, check))
        self.warn_cuts(sum(chunk_cuts, NOT_CUT), source)

    def warn_cuts(self, cuts: CutCounts, place: str) -> None:
        """Log a warning if texts were cut; `place` is the flag or the file with the texts."""
        warn_cuts(cuts, self.settings.encoding.max_seq_length, place=place)

    def _check(self, source: str, chunk_cuts: list[CutCounts], reader: interactive.ChunkReader | None = None) -> _Check:
        """Return a check of each chunk, which warns once per problem, and extends `chunk_cuts`."""
        check_unknown = interactive.make_unknown_check(source, self.model.vocabulary, self.settings.model, reader)
        check_pairs = make_pair_check(input_name(source), self.num_texts)

        def check(lines: Sequence[TextLine], features: ClassificationFeatures) -> None:
            check_unknown(features.sequences)
            chunk_cuts.append(features.cuts)
            check_pairs(lines)

        return check


@dataclasses.dataclass(frozen=True)
class _MeanClassifier(_TextClassifier):
    """The first classifier of an ensemble, with the mean prediction of all of them.

    Attributes:
        members: the classifiers.
        orders: see predicting.ensemble.label_order.
    """

    members: tuple[_TextClassifier, ...]
    orders: Sequence[Sequence[int]]

    def predict(self, lines: Sequence[TextLine], features: ClassificationFeatures) -> PredictionArrays:
        decoder = self.data.decoder.problem_type.decoder
        computed = [
            reorder(decoder, member.predict(lines, _features(lines, member.data)), order)
            for member, order in zip(self.members, self.orders, strict=True)
        ]
        return average(decoder, computed, features.label_ids)


def _open_member(settings: ClassifySettings) -> _TextClassifier:
    """Return the classifier of a run, which is not the first one of an ensemble."""
    task = ClassificationTask(settings)
    model = opening.load_task_model(task, settings)
    data = _dataset(settings, model)
    predictor = opening.open_task_for_new_texts(task, model, data, settings, many=settings.files.come_together)
    return _TextClassifier(settings, model, data, predictor, num_trained_texts(model, settings.task.task_name))


def _mean_classifier(folders: Sequence[str], members: Sequence[_TextClassifier]) -> _MeanClassifier:
    """Return the mean of opened classifiers; raise InputError if they differ in labels or texts."""
    first, decoders = members[0], [member.data.decoder for member in members]
    orders = label_order(folders, decoders)
    for folder, member in zip(folders, members, strict=True):
        refuse_if(
            member.num_texts != first.num_texts,
            f"{folder}: was trained on {member.num_texts or 'an unknown number of'} texts per row, and {folders[0]} on "
            f"{first.num_texts or 'an unknown number'}; an ensemble needs models of one kind",
        )
    data = dataclasses.replace(first.data, decoder=mean_decoder(decoders, orders))
    return _MeanClassifier(first.settings, first.model, data, first.predictor, first.num_texts, tuple(members), orders)


def _features(lines: Sequence[TextLine], data: ClassificationDataset) -> ClassificationFeatures:
    examples = [ClassificationExample(str(number), line.text_a, line.text_b, None) for number, line in enumerate(lines)]
    return encode_texts(data, examples)


def plan_label_shards(
    settings: ClassifySettings,
    model: AnyModel,
    data: ClassificationDataset,
    file_flags: tuple[str, str],
    output_names: Sequence[str],
    has_tables: bool,
) -> shards.ShardPlan:
    """Return the plan for several input files; see shards.ShardPlan.

    Args:
        model: the trained model.
        data: dataset with the decoder.
        file_flags: the flags for input files and for outputs.
        output_names: output paths without shards; each shard gets paths derived from them.
        has_tables: whether the input files are tables.
    """
    facts = prediction_values(settings, has_tables) | model.fingerprint
    facts |= {"problem_type": data.decoder.problem_type.name, "labels": ",".join(data.decoder.labels.names) or None}
    if data.decoder.labels.thresholds is not None:
        facts["threshold"] = ",".join(map(str, data.decoder.labels.thresholds))
    if data.decoder.calibration:
        facts["calibration"] = json.dumps(data.decoder.calibration.facts(data.decoder.temperature_names))
    return shards.ShardPlan(flag_values(settings), file_flags, output_names, facts, model.required_checkpoint.file)


def predict_shards(settings: ClassifySettings) -> dict[str, Any]:
    """Write the tables of --do_predict for each file of --predict_file; return the number of files.

    There is no report and no lock, because other processes write shards to the same output_dir.
    """
    folder = settings.phases.output_dir
    files.check_can_write(folder, "output_dir")
    task = ClassificationTask(settings)
    model = opening.load_task_model(task, settings)
    checkpoint = model.required_checkpoint
    labels = find_trained_labels(settings, model)
    empty_data = make_empty_dataset(settings, model, labels or (), [folder, *run_folders(checkpoint)])
    files.make_directory(folder)
    # From these paths for a single file, the plan derives the paths for each shard.
    output_names = [os.path.join(folder, name) for name in prediction_tables(empty_data).names("test")]
    plan = plan_label_shards(settings, model, empty_data, ("predict_file", "output_dir"), output_names, True)
    shards_to_do = plan.find_unfinished()
    check_pairs = PairCheck(model.config, model.config_name, settings.model.strict)
    one_process = dataclasses.replace(settings, devices=settings.devices.without_workers())
    session = None
    for shard in plan.iterate(shards_to_do):
        shard_task = ClassificationTask(replace_values(settings, {"predict_file": shard.source}))
        with contextlib.ExitStack() as stack:
            data = shard_task.read(model, stack)
        split = data.splits["test"]
        check_unknown("test", split.features.sequences, model.vocabulary, settings.model)
        check_pairs(split.features.sequences)
        # The session needs a dataset, so open it after reading the first shard.
        session = session or opening.open_trained_task(shard_task, model, data, one_process)[0]
        predictions = data.decoder.infer(session, split.features, settings.inference.predict_batch_size, "predicting")
        prediction_tables(data).write(shard.targets, split, predictions, data.decoder)
    return {"shards": len(shards_to_do)}
