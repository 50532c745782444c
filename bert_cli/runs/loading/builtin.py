"""The models in the box, and when a command takes them: all that decides this stands here. No TensorFlow.

A pre-trained BERT lies in PRETRAINED where its weights were put there; it is what training starts from, and what vectors and
blanks are computed with, where no flag names a model. FOLDER itself has vocabulary and config of a smaller one that starts from
random weights: with --init_checkpoint=random, and where there are no weights in the box.
"""

import logging
import os
import pathlib

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import BUILTIN_MODEL, CONFIG, RANDOM, SAFETENSORS, VOCABULARY
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.settings.groups import ModelFiles
from bert_cli.weights.path import HUGGING_FACE, CheckpointPath, find_checkpoint

LOG = logging.getLogger("bert_cli")
FOLDER = str(pathlib.Path(os.path.abspath(__file__)).parents[2] / "builtin")  # bert_cli/builtin
PRETRAINED = os.path.join(FOLDER, "pretrained")


def pretrained_model() -> CheckpointPath | None:
    """The pre-trained model in the box; None where its weights are not there."""
    if not files.exists(os.path.join(PRETRAINED, SAFETENSORS)):
        return None
    return CheckpointPath(HUGGING_FACE, PRETRAINED, handle=BUILTIN_MODEL)


def random_model() -> tuple[str, str]:
    """vocab.txt and bert_config.json of the small model that starts from random weights."""
    return os.path.join(FOLDER, VOCABULARY), os.path.join(FOLDER, CONFIG)


def named_checkpoint(init_checkpoint: str | None, strict: bool = False) -> CheckpointPath | None:
    """What --init_checkpoint names; None where it is left out, or says RANDOM. strict: see training_folder.newest_whole."""
    return find_checkpoint(init_checkpoint, strict=strict) if init_checkpoint and init_checkpoint != RANDOM else None


def training_start(init_checkpoint: str, model: ModelFiles) -> CheckpointPath | None:
    """The checkpoint that a training starts from, None for random weights.

    Where nothing is named it is the pre-trained model in the box, but for a vocabulary or a config of the user's own.
    """
    if init_checkpoint or model.vocab_file or model.bert_config_file:
        return named_checkpoint(init_checkpoint, model.strict)
    return pretrained_model()


def ready_checkpoint(init_checkpoint: str, model: ModelFiles, otherwise: str = "") -> CheckpointPath:
    """The checkpoint of a command that uses a pre-trained model as it is.

    Where none is named it is the model in the box, but for a vocabulary or a config of the user's own; where that is not
    there, what `otherwise` names. InputError where this is nothing, or where random weights are asked for.
    """
    if init_checkpoint == RANDOM:
        raise InputError(f"--init_checkpoint={RANDOM} is a start for training; here a pre-trained model is needed")
    has_own = bool(init_checkpoint or model.vocab_file or model.bert_config_file)
    found = None if has_own else pretrained_model()
    if found:
        return found
    if not (init_checkpoint or otherwise):
        raise InputError("--init_checkpoint is needed: give a pre-trained model")
    return find_checkpoint(init_checkpoint or otherwise, strict=model.strict)


def builtin_message(checkpoint: CheckpointPath | None, config: BertConfig | ModuleConfig) -> str | None:
    """The line that says that the pre-trained model in the box is used; None where it is not."""
    if not checkpoint or checkpoint.handle != BUILTIN_MODEL:
        return None
    size = f"{config.num_hidden_layers} layers of width {config.hidden_size}, {config.vocab_size:,} words"
    return f"no model was given: the built-in one is used, pre-trained on English text: {size}"


def random_start_message(init_checkpoint: str, is_builtin: bool) -> tuple[int, str]:
    """(level, line) of the log that says that training starts from random weights. is_builtin: with the config in the box."""
    if init_checkpoint == RANDOM:
        which = "the small built-in network" if is_builtin else "the model"
        return logging.INFO, f"--init_checkpoint={RANDOM}: {which} starts from random weights"
    if is_builtin:
        return logging.INFO, "no model was given: the small built-in one is used, which starts from RANDOM weights"
    return (
        logging.WARNING,
        "warning: no --init_checkpoint: training starts from RANDOM weights, not from a pre-trained model",
    )
