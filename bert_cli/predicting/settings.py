"""Flags that a model for new texts needs, for each kind of model.

These are groups of the command that trains the model. The training run's flags.txt has the values.
"""

import dataclasses
from typing import Any, TypeVar

from bert_cli.flags.option import group
from bert_cli.settings.classification import Classification
from bert_cli.settings.controls import Head, LayerRates
from bert_cli.settings.data import Choices, LabelKind
from bert_cli.settings.devices import WITHOUT_INT8, Devices
from bert_cli.settings.groups import Encoding, Hub, Inference, ModelFiles
from bert_cli.settings.squad import WINDOW_LENGTH, AnswerSearch, Squad
from bert_cli.settings.tagging import TaggerModel, Tagging

Settings = TypeVar("Settings")


@dataclasses.dataclass(frozen=True)
class ClassifierSettings:
    """Flags for a text classifier."""

    task: Classification = group(Classification)
    choices: Choices = group(Choices)
    label_kind: LabelKind = group(LabelKind)
    encoding: Encoding = group(Encoding)
    model: ModelFiles = group(ModelFiles)
    hub: Hub = group(Hub)
    inference: Inference = group(Inference, without=("decoding",))
    head: Head = group(Head)
    devices: Devices = group(Devices, without=("batch_size",))


@dataclasses.dataclass(frozen=True)
class TaggerSettings:
    """Flags for a tagger."""

    task: Tagging = group(Tagging)
    encoding: Encoding = group(Encoding, only=("max_seq_length",))
    model: ModelFiles = group(ModelFiles)
    hub: Hub = group(Hub)
    tagger: TaggerModel = group(TaggerModel)
    inference: Inference = group(Inference, only=("predict_batch_size", "decoding"))
    rates: LayerRates = group(LayerRates)
    devices: Devices = group(Devices, without=("batch_size",))


@dataclasses.dataclass(frozen=True)
class AnswererSettings:
    """Flags for a model that answers questions."""

    task: Squad = group(Squad)
    encoding: Encoding = group(Encoding, only=("max_seq_length",), max_seq_length=WINDOW_LENGTH)
    model: ModelFiles = group(ModelFiles)
    hub: Hub = group(Hub)
    inference: Inference = group(Inference, only=("predict_batch_size",))
    answers: AnswerSearch = group(AnswerSearch)
    devices: Devices = group(Devices, without=("batch_size",))


@dataclasses.dataclass(frozen=True)
class MaskFillerSettings:
    """Flags for a model of masked words."""

    model: ModelFiles = group(ModelFiles, without=("allow_unknown",))
    devices: Devices = group(Devices, {"precision": WITHOUT_INT8})


@dataclasses.dataclass(frozen=True)
class VectorSettings:
    """Flags for an encoder that gives vectors."""

    encoding: Encoding = group(Encoding, only=("max_seq_length",))
    model: ModelFiles = group(ModelFiles)
    hub: Hub = group(Hub, without=("hub_trainable",))
    devices: Devices = group(Devices)


def select_groups(settings_class: type[Settings], settings: Any) -> Settings:
    """Return the groups that a class here shares with a command's settings."""
    return settings_class(**{field.name: getattr(settings, field.name) for field in dataclasses.fields(settings_class)})  # type: ignore[arg-type]
