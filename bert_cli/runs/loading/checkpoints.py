"""Which checkpoint a run starts from, or takes as trained; found before TensorFlow is imported."""

import logging
import os

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import BEST, BEST_FILE, CONFIG
from bert_cli.model.config import read_module_config
from bert_cli.runs.loading.builtin import named_checkpoint, training_start
from bert_cli.settings.groups import Hub, ModelFiles, Phases
from bert_cli.weights.path import CheckpointPath, find_checkpoint, find_module, model_folder
from bert_cli.weights.training_folder import latest_checkpoint, newest_whole

LOG = logging.getLogger("bert_cli")


def trained_checkpoint(init_checkpoint: str | None, output_dir: str, strict: bool = False) -> CheckpointPath:
    """The checkpoint for a run that does not train: what --init_checkpoint names, unless output_dir holds a newer state.

    As in the original, the newest checkpoint of output_dir, or the best one where its run kept that, wins over an
    --init_checkpoint from elsewhere; one from within output_dir, such as its model.ckpt-<number>, is taken as it is.
    InputError where there is none at all. strict: see newest_whole.
    """
    chosen = named_checkpoint(init_checkpoint, strict)
    latest = newest_whole(model_folder(output_dir), strict)
    if chosen and (latest is None or _is_of_run(chosen.folder, output_dir)):
        return chosen
    if latest is None:
        raise InputError(
            f"{output_dir}: holds no trained model; check --output_dir, add --do_train, or give --init_checkpoint a "
            "fine-tuned one"
        )
    return find_checkpoint(latest)


def trained_folder(init_checkpoint: str | None, output_dir: str) -> str:
    """The folder of trained_checkpoint, for what stands beside the weights: where it is plain, these are not looked at."""
    folder = model_folder(output_dir)
    if not init_checkpoint and latest_checkpoint(folder):
        return folder
    return trained_checkpoint(init_checkpoint, output_dir).folder


def _is_of_run(folder: str, output_dir: str) -> bool:
    """Whether checkpoints in `folder` are those of the run, or of one of the runs, of an output_dir."""
    inner, outer = files.real(folder), files.real(output_dir)
    has_parts = files.exists(os.path.join(output_dir, BEST_FILE))
    return inner == outer or (has_parts and inner.startswith(outer + os.sep))


def run_folders(checkpoint: CheckpointPath) -> list[str]:
    """Where files of the run that made a checkpoint stand: beside it, and of a best checkpoint also in the folder above."""
    above, name = os.path.split(files.absolute(checkpoint.folder))
    is_best = name == BEST
    return [checkpoint.folder, *([above] if is_best else [])]


def choose_checkpoint(model: ModelFiles, hub: Hub, phases: Phases) -> CheckpointPath | None:
    """The checkpoint whose weights a run takes first: for training what --hub_module names or builtin.training_start finds,
    else a trained one.
    """
    if phases.do_train:
        own = find_module(hub.hub_module, "hub_module") if hub.hub_module else None
        return own or training_start(model.init_checkpoint, model)
    given = named_checkpoint(model.init_checkpoint, model.strict)
    chosen = trained_checkpoint(model.init_checkpoint, phases.output_dir, model.strict)
    if model_folder(phases.output_dir) != phases.output_dir and chosen != given:
        LOG.info("%s: the best checkpoint of %s is taken", chosen.location, phases.output_dir)
    if given and chosen != given:
        LOG.warning("warning: %s comes first, --init_checkpoint is not used", chosen.location)
    config_file = model.bert_config_file or chosen.companion(CONFIG)
    if hub.hub_module and not (config_file and read_module_config(config_file)):
        LOG.warning("warning: %s comes first, --hub_module is not used", chosen.location)
    return chosen
