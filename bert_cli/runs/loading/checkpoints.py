"""Which checkpoint a run starts from, or takes as trained; found before TensorFlow is imported.

A pre-trained BERT lies in PRETRAINED where its weights were put there; it is what training starts
from, and what vectors and blanks are computed with, where no flag names a model. FOLDER itself has
vocabulary and config of a smaller one that starts from random weights: with
--init_checkpoint=random, and where there are no weights in the box.
"""

import logging
import os
import pathlib

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.names import BEST, BEST_FILE, BUILTIN_MODEL, CONFIG, RANDOM, SAFETENSORS, VOCABULARY
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.config_files import read_module_config
from bert_cli.settings.groups import Hub, ModelFiles, Phases
from bert_cli.weights.module_path import find_module
from bert_cli.weights.path import HUGGING_FACE, CheckpointPath, find_checkpoint, model_folder
from bert_cli.weights.training_folder import latest_checkpoint, newest_undamaged

FOLDER = str(pathlib.Path(os.path.abspath(__file__)).parents[2] / "builtin")  # bert_cli/builtin
PRETRAINED = os.path.join(FOLDER, "pretrained")


def pretrained_model() -> CheckpointPath | None:
    """The pre-trained model in the box; None where its weights are not there."""
    # The weights are large, and not in every copy of the package.
    if not files.exists(os.path.join(PRETRAINED, SAFETENSORS)):
        return None
    return CheckpointPath(HUGGING_FACE, PRETRAINED, handle=BUILTIN_MODEL)


def random_model() -> tuple[str, str]:
    """vocab.txt and bert_config.json of the small model that starts from random weights."""
    return os.path.join(FOLDER, VOCABULARY), os.path.join(FOLDER, CONFIG)


def named_checkpoint(init_checkpoint: str | None, strict: bool = False) -> CheckpointPath | None:
    """What --init_checkpoint names; None where it is left out, or says RANDOM. strict: see
    training_folder.newest_undamaged.
    """
    return find_checkpoint(init_checkpoint, strict=strict) if init_checkpoint and init_checkpoint != RANDOM else None


def training_start(init_checkpoint: str, model: ModelFiles) -> CheckpointPath | None:
    """The checkpoint that a training starts from, None for random weights.

    Where nothing is named it is the pre-trained model in the box, but for a vocabulary or a config
    of the user's own.
    """
    if init_checkpoint or model.vocab_file or model.bert_config_file:
        return named_checkpoint(init_checkpoint, model.strict)
    return pretrained_model()


def ready_checkpoint(init_checkpoint: str, model: ModelFiles, otherwise: str = "") -> CheckpointPath:
    """The checkpoint of a command that uses a pre-trained model as it is.

    Where none is named it is the model in the box, but for a vocabulary or a config of the user's
    own; where that is not there, what `otherwise` names. InputError where this is nothing, or where
    random weights are asked for.
    """
    if init_checkpoint == RANDOM:
        raise InputError(f"--init_checkpoint={RANDOM} is a start for training; here a pre-trained model is needed")
    # Words or sizes of the user's own belong to another model than the one in the box.
    has_own = bool(init_checkpoint or model.vocab_file or model.bert_config_file)
    found = None if has_own else pretrained_model()
    if found:
        return found
    if not (init_checkpoint or otherwise):
        raise InputError("--init_checkpoint is needed: give a pre-trained model")
    return find_checkpoint(init_checkpoint or otherwise, strict=model.strict)


def encoder_checkpoint(model: ModelFiles, hub_module: str | None) -> CheckpointPath:
    """The encoder of a command that computes vectors: the module that --hub_module names where no
    checkpoint is named, else ready_checkpoint.
    """
    if hub_module and not model.init_checkpoint:
        return find_module(hub_module, "hub_module")
    return ready_checkpoint(model.init_checkpoint, model)


def builtin_message(checkpoint: CheckpointPath | None, config: BertConfig | ModuleConfig) -> str | None:
    """The line that says that the pre-trained model in the box is used; None where it is not."""
    if not checkpoint or checkpoint.handle != BUILTIN_MODEL:
        return None
    size = f"{config.num_hidden_layers} layers of width {config.hidden_size}, {config.vocab_size:,} words"
    return f"no model was given: the built-in one is used, pre-trained on English text: {size}"


def random_start_message(init_checkpoint: str, is_builtin: bool) -> tuple[int, str]:
    """(level, line) of the log that says that training starts from random weights. is_builtin: with
    the config in the box.
    """
    if init_checkpoint == RANDOM:
        which = "the small built-in network" if is_builtin else "the model"
        return logging.INFO, f"--init_checkpoint={RANDOM}: {which} starts from random weights"
    if is_builtin:
        return logging.INFO, "no model was given: the small built-in one is used, which starts from RANDOM weights"
    return (
        logging.WARNING,
        "warning: no --init_checkpoint: training starts from RANDOM weights, not from a pre-trained model",
    )


def trained_checkpoint(init_checkpoint: str | None, output_dir: str, strict: bool = False) -> CheckpointPath:
    """The checkpoint for a run that does not train: what --init_checkpoint names, unless output_dir
    holds a newer state.

    As in the original, the newest checkpoint of output_dir, or the best one where its run kept
    that, wins over an --init_checkpoint from elsewhere; one from within output_dir, such as its
    model.ckpt-<number>, is taken as it is. InputError where there is none at all. strict: see
    newest_undamaged.
    """
    chosen = named_checkpoint(init_checkpoint, strict)
    latest = newest_undamaged(model_folder(output_dir), strict)
    if chosen and (latest is None or _is_of_run(chosen.folder, output_dir)):
        return chosen
    if latest is None:
        raise InputError(
            f"{output_dir}: holds no trained model; check --output_dir, add --do_train, or give "
            "--init_checkpoint a fine-tuned one"
        )
    return find_checkpoint(latest)


def trained_folder(init_checkpoint: str | None, output_dir: str) -> str:
    """The folder of trained_checkpoint, for the files next to the weights: where the name says it,
    the weights are not looked at.
    """
    folder = model_folder(output_dir)
    # Looking for a whole checkpoint opens its files, which takes a while on remote disks, and
    # happens later anyway.
    if not init_checkpoint and latest_checkpoint(folder):
        return folder
    return trained_checkpoint(init_checkpoint, output_dir).folder


def _is_of_run(folder: str, output_dir: str) -> bool:
    """Whether checkpoints in `folder` belong to the run, or to one of the runs, of an output_dir."""
    # By real paths, as --output_dir may be a link or be given relative.
    inner, outer = files.resolve(folder), files.resolve(output_dir)
    has_parts = files.exists(os.path.join(output_dir, BEST_FILE))
    return inner == outer or (has_parts and inner.startswith(outer + os.sep))


def run_folders(checkpoint: CheckpointPath) -> list[str]:
    """Where the files of the run that made a checkpoint are: next to it, and of a best checkpoint
    also in the folder above.
    """
    # thresholds.json is written once for the run, so the best checkpoint in its folder finds it
    # above.
    above, name = os.path.split(files.make_absolute(checkpoint.folder))
    is_best = name == BEST
    return [checkpoint.folder, *([above] if is_best else [])]


def choose_checkpoint(model: ModelFiles, hub: Hub, phases: Phases) -> CheckpointPath | None:
    """The checkpoint whose weights a run takes first: for training what --hub_module names or
    training_start finds, else a trained one.
    """
    if phases.do_train:
        own = find_module(hub.hub_module, "hub_module") if hub.hub_module else None
        return own or training_start(model.init_checkpoint, model)
    given = named_checkpoint(model.init_checkpoint, model.strict)
    chosen = trained_checkpoint(model.init_checkpoint, phases.output_dir, model.strict)
    if model_folder(phases.output_dir) != phases.output_dir and chosen != given:
        LOG.info("%s: the best checkpoint of %s is taken", chosen.location, phases.output_dir)
    # Said aloud, as a flag that is given and not followed would surprise.
    if given and chosen != given:
        LOG.warning("warning: %s comes first, --init_checkpoint is not used", chosen.location)
    config_file = model.bert_config_file or chosen.companion(CONFIG)
    if hub.hub_module and not (config_file and read_module_config(config_file)):
        LOG.warning("warning: %s comes first, --hub_module is not used", chosen.location)
    return chosen
