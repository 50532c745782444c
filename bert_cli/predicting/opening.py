"""Opening of trained models for new texts: flags of each kind, and its network on an engine.

The flags are groups of the command that trains the model. The training run's flags.txt has the values.
"""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from bert_cli.flags.option import group
from bert_cli.inference.engine import FineTunedNetwork
from bert_cli.inference.rows import Predictor, open_trained
from bert_cli.model.config import BertConfig
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.checks import PairCheck
from bert_cli.settings import controls
from bert_cli.settings.answering import (
    OWN_LENGTH,
    WINDOW_LENGTH,
    AnswerSearch,
    Classification,
    Squad,
    TaggerModel,
    Tagging,
)
from bert_cli.settings.data import Choices, LabelKind
from bert_cli.settings.devices import WITHOUT_INT8, Devices
from bert_cli.settings.groups import Encoding, HubEncoder, Inference, ModelFiles

if TYPE_CHECKING:
    from bert_cli.heads.model import TaskModel

Settings = TypeVar("Settings")


@dataclasses.dataclass(frozen=True)
class ClassifierSettings:
    """Flags for a text classifier."""

    task: Classification = group(Classification)
    choices: Choices = group(Choices)
    label_kind: LabelKind = group(LabelKind)
    encoding: Encoding = group(Encoding)
    model: ModelFiles = group(ModelFiles)
    hub: HubEncoder = group(HubEncoder)
    inference: Inference = group(Inference, without=("decoding",))
    head: controls.HeadInput = group(controls.HeadInput)
    devices: Devices = group(Devices, without=("batch_size",))


@dataclasses.dataclass(frozen=True)
class TaggerSettings:
    """Flags for a tagger."""

    task: Tagging = group(Tagging)
    encoding: Encoding = group(Encoding, only=("max_seq_length",))
    model: ModelFiles = group(ModelFiles)
    hub: HubEncoder = group(HubEncoder)
    tagger: TaggerModel = group(TaggerModel)
    inference: Inference = group(Inference, only=("predict_batch_size", "decoding"))
    rates: controls.LayerRates = group(controls.LayerRates)
    devices: Devices = group(Devices, without=("batch_size",))


@dataclasses.dataclass(frozen=True)
class AnswererSettings:
    """Flags for a model that answers questions."""

    task: Squad = group(Squad)
    encoding: Encoding = group(Encoding, only=("max_seq_length",), max_seq_length=WINDOW_LENGTH)
    model: ModelFiles = group(ModelFiles)
    hub: HubEncoder = group(HubEncoder)
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

    encoding: Encoding = group(Encoding, {"max_seq_length": OWN_LENGTH}, only=("max_seq_length",), max_seq_length=0)
    model: ModelFiles = group(ModelFiles)
    hub: HubEncoder = group(HubEncoder, without=("hub_trainable",))
    devices: Devices = group(Devices)


def select_groups(settings_class: type[Settings], settings: Any) -> Settings:
    """Return the groups that a class here shares with a command's settings."""
    return settings_class(**{field.name: getattr(settings, field.name) for field in dataclasses.fields(settings_class)})  # type: ignore[arg-type]


# Returns the Keras model for a compute dtype.
MakeModel = Callable[[str], "TaskModel"]


def open_for_new_texts(
    network: FineTunedNetwork,
    make_model: MakeModel,
    model: AnyModel,
    devices: Devices,
    max_seq_length: int,
    strict: bool = False,
    many: bool = False,
) -> Predictor:
    """Return a trained model for new texts, with the engine of Devices.for_answers.

    Args:
        network: description of the network, for all engines.
        make_model: builds the network, for TensorFlow.
        model: the model's files.
        devices: flags that select engine, devices and precision.
        max_seq_length: maximum number of tokens in a sequence.
        strict: whether a doubt about the texts is an error, see base.log.warn_or_fail.
        many: see inference.rows.open_trained.
    """
    devices = devices.for_answers(isinstance(model.config, BertConfig))
    checkpoint = model.required_checkpoint
    engine = open_trained(network, model.config, checkpoint, devices, max_seq_length, make_model, many).engine
    return Predictor(engine, max_seq_length, PairCheck(model.config, model.config_name, strict))
