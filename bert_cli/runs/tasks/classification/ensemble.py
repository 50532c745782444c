"""Ensembles of bert-classify: a dataset with mean predictions over several runs."""

import contextlib
import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.log import LOG
from bert_cli.features.ragged import Features
from bert_cli.flags.option import flag_values, replace_values
from bert_cli.inference.rows import Predictor
from bert_cli.opening.paths import ensemble_members, find_members
from bert_cli.predicting.decoder import LabeledFeatures
from bert_cli.predicting.ensemble import average, disagreement, label_order, mean_decoder, reorder
from bert_cli.problem_types.columns import Column, NumberColumn, Probabilities
from bert_cli.problem_types.parts import PredictionArrays
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.averaging import member_settings
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset, list_split_names
from bert_cli.runs.tasks.classification.decoder import FittingDecoder
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.settings.classification import DISAGREEMENT, REPLACED_FLAGS, ClassifySettings


class SplitMean(NamedTuple):
    """The mean prediction for a split.

    Attributes:
        features: the rows that it is about.
        predictions: the mean.
        columns: columns with the predictions of single members, {} without --member_columns.
        rate: rows per second.
    """

    features: Features
    predictions: PredictionArrays
    columns: Mapping[str, Column]
    rate: float


@dataclasses.dataclass(frozen=True)
class MeanDecoder(FittingDecoder):
    """Decoder with predictions that the members of an ensemble have computed before.

    Attributes:
        means: the predictions for each split.
    """

    means: tuple[SplitMean, ...] = ()

    def infer_raw(
        self, predictor: Predictor, features: LabeledFeatures, batch_size: int, title: str | None
    ) -> tuple[PredictionArrays, float]:
        split = self._find(features)
        return split.predictions, split.rate

    def member_columns(self, features: LabeledFeatures) -> Mapping[str, Column]:
        return self._find(features).columns

    def _find(self, features: Features) -> SplitMean:
        return next(split for split in self.means if split.features is features)


def check_members(settings: ClassifySettings, given_names: frozenset[str]) -> ClassifySettings:
    """Return the settings of the first member.

    Raise InputError if a run of --ensemble is missing, or if a flag that has its default would be
    replaced by a member's value.
    """
    members = ensemble_members(settings.ensemble.ensemble, "--ensemble")
    for flag, path in (("predict_file", settings.data.predict_file), ("input_file", settings.files.input_file)):
        refuse_if(
            files.is_pattern(path), f"--{flag}={path}: an ensemble predicts a single file; name it without a pattern"
        )
    for folder in members:
        expected = flag_values(member_settings(settings, folder, REPLACED_FLAGS, given_names))
        for name, value in flag_values(member_settings(settings, folder, REPLACED_FLAGS)).items():
            refuse_if(
                value != expected[name],
                f"--{name}={expected[name]}: {folder} was trained with {value}, and its own value is used in an "
                "ensemble; leave it out",
            )
    return member_settings(settings, members[0], REPLACED_FLAGS)


def average_members(
    settings: ClassifySettings,
) -> tuple[ClassificationTask, ClassificationDataset, Sequence[str]]:
    """Return a task and a dataset that use the members' mean predictions, and their directories.

    Args:
        settings: the ensemble's flags, without values of training runs.
    """
    folders = find_members(settings.ensemble.ensemble)
    LOG.info("the mean of %d runs predicts: %s", len(folders), ", ".join(folders))
    computed: list[dict[str, tuple[PredictionArrays, float]]] = []
    datasets: list[ClassificationDataset] = []
    for folder in folders:
        task = ClassificationTask(member_settings(settings, folder, REPLACED_FLAGS))
        data, predictions = _predict(task)
        datasets.append(data)
        computed.append(predictions)
        _check_rows(folders[0], datasets[0], folder, data)
        label_order([folders[0], folder], [datasets[0].decoder, data.decoder])
        # The mean needs only predictions and labels; the first member has the rows.
        datasets[1:] = [dataclasses.replace(other, splits={}) for other in datasets[1:]]
    first, decoders = datasets[0], [data.decoder for data in datasets]
    orders = label_order(folders, decoders)
    output = first.decoder.problem_type.decoder
    means = []
    for name in computed[0]:
        features = first.splits[name].features
        members = [reorder(output, splits[name][0], order) for splits, order in zip(computed, orders, strict=True)]
        has_columns = settings.ensemble.member_columns
        columns = _columns(first.decoder, members, folders) if has_columns else {}
        rate = min(splits[name][1] for splits in computed)
        averaged = average(output, members, features.label_ids)
        if settings.to_label.to_label == DISAGREEMENT:
            averaged = {**averaged, DISAGREEMENT: disagreement(first.decoder, members)}
        means.append(SplitMean(features, averaged, columns, rate))
    decoder = MeanDecoder(**vars(mean_decoder(decoders, orders)), means=tuple(means))
    changes = {"output_dir": settings.phases.output_dir, "init_checkpoint": folders[0], "report": False}
    task = ClassificationTask(replace_values(member_settings(settings, folders[0], REPLACED_FLAGS), changes))
    return task, dataclasses.replace(first, settings=task.settings, decoder=decoder), folders


def _predict(task: ClassificationTask) -> tuple[ClassificationDataset, dict[str, tuple[PredictionArrays, float]]]:
    """Return a member's dataset, and its calibrated predictions and rate for each split."""
    settings = task.settings
    model = opening.load_task_model(task, settings)
    with contextlib.ExitStack() as stack:
        data = task.read(model, stack)
    predictor, _ = opening.open_trained_task(task, model, data, settings)
    sizes = {"dev": settings.inference.eval_batch_size, "test": settings.inference.predict_batch_size}
    computed = {}
    for kind, batch_size in sizes.items():
        for name in list_split_names(data, kind):
            features = data.splits[name].features
            raw, rate = data.decoder.infer_raw(predictor, features, batch_size, "predicting")
            computed[name] = data.decoder.calibrate(raw, features.label_ids), rate
    return data, computed


def _check_rows(first: str, first_data: ClassificationDataset, name: str, data: ClassificationDataset) -> None:
    """Raise InputError if two members read different texts, for example other held-out rows."""
    for split, content in first_data.splits.items():
        other = data.splits.get(split)
        if other is None or list(other.statistics().texts) != list(content.statistics().texts):
            raise InputError(f"{name}: reads other {split} rows than {first}; name the file, such as --{split}_file")


def _columns(decoder: FittingDecoder, members: Sequence[PredictionArrays], folders: Sequence[str]) -> dict[str, Column]:
    """Return columns with each member's probabilities or numbers."""
    names = _short_names(folders)
    output = decoder.problem_type.decoder.output_name
    arrays = [predictions[output] for predictions in members]
    if arrays[0].ndim == 1:
        return {f"value_{name}": NumberColumn(values) for name, values in zip(names, arrays, strict=True)}
    labels = decoder.labels.names or tuple(map(str, range(arrays[0].shape[1])))
    columns = [f"{label}_{name}" for name in names for label in labels]
    return {"members": Probabilities(columns, np.concatenate(arrays, axis=1))}


def _short_names(folders: Sequence[str]) -> list[str]:
    """Return the names of directories, or their paths if two names are equal."""
    names = [os.path.basename(os.path.abspath(folder)) for folder in folders]
    return names if len(set(names)) == len(names) else list(folders)
