"""Functions that put a trained network on an engine, with its weights."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bert_cli.inference.engine import Head
from bert_cli.inference.rows import Predictor, load_trained, open_engine
from bert_cli.model.config import BertConfig
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.loading.checks import PairCheck
from bert_cli.settings.devices import Devices

if TYPE_CHECKING:
    from bert_cli.heads.model import TaskModel

# Returns the Keras model for a compute dtype.
MakeModel = Callable[[str], "TaskModel"]


def open_for_new_texts(
    network: Head,
    make_model: MakeModel,
    model: AnyModel,
    devices: Devices,
    max_seq_length: int,
    strict: bool = False,
) -> Predictor:
    """Return a trained model for new texts, with the engine of Devices.for_answers.

    Args:
        network: description of the network, for all engines.
        make_model: builds the network, for TensorFlow.
        model: the model's files.
        devices: flags that select engine, devices and precision.
        max_seq_length: maximum number of tokens in a sequence.
        strict: whether a doubt about the texts is an error, see base.log.warn_or_fail.
    """
    devices = devices.for_answers(isinstance(model.config, BertConfig))
    engine = open_engine(network, model.config, devices, max_seq_length, make_model)
    predictor = Predictor(engine, max_seq_length, PairCheck(model.config, model.config_name, strict))
    load_trained(predictor.engine, model.required_checkpoint)
    return predictor
