"""Choice of the checkpoint that a run starts from or uses. Imports no TensorFlow."""

import dataclasses
import logging
import os

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.names import BEST, BEST_FILE, BUILTIN_MODEL, RANDOM
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.opening.paths import named_or_builtin, pretrained_model
from bert_cli.settings.groups import HubEncoder, ModelFiles
from bert_cli.weights.module_path import find_module
from bert_cli.weights.path import CheckpointPath, find_checkpoint, model_folder
from bert_cli.weights.training_folder import latest_checkpoint, newest_undamaged


def checkpoint_to_start_from(model: ModelFiles, hub: HubEncoder) -> CheckpointPath | None:
    """Return the checkpoint that a training starts from; None for random weights.

    It is --hub_module or --init_checkpoint. Without model flags, it is the built-in pre-trained
    model.
    """
    if hub.hub_module:
        return find_module(hub.hub_module, "hub_module")
    return _named(model) if _has_flags(model) else pretrained_model()


@dataclasses.dataclass(frozen=True)
class UsedModel:
    """The model that a command uses without training it; its weights are looked for on demand.

    Attributes:
        flags, hub, output_dir, default: see `model_to_use`.
    """

    flags: ModelFiles
    hub: HubEncoder
    output_dir: str
    default: str

    @property
    def folder(self) -> str:
        """Return the checkpoint's directory, without looking for damage in the checkpoint."""
        if folder := named_folder(self.flags):
            return folder
        folder = model_folder(self.output_dir) if self.output_dir else ""
        return folder if folder and latest_checkpoint(folder) else self.find().folder

    def find(self) -> CheckpointPath:
        """Return the checkpoint; raise InputError without one, or if random weights are requested."""
        if not self.output_dir:
            return _pretrained(self.flags, self.hub, self.default)
        if named := _named(self.flags):
            return named
        chosen = _trained(self.output_dir, self.flags.strict)
        if model_folder(self.output_dir) != self.output_dir:
            LOG.info("%s: the best checkpoint of %s is taken", chosen.location, self.output_dir)
        return chosen


def model_to_use(
    flags: ModelFiles,
    hub: HubEncoder = HubEncoder(),  # noqa: B008
    output_dir: str = "",
    default: str = "",
) -> UsedModel:
    """Return the model that a command uses without training it.

    It is --init_checkpoint, or else the checkpoint in output_dir: the best one if the run kept
    that, or the newest one. Commands that can train call `model_choice.with_chosen_model` before, which
    removes an --init_checkpoint that is only the run's start.

    Without output_dir, it is --init_checkpoint or --hub_module. Without model flags, it is the
    built-in pre-trained model.

    Args:
        output_dir: flag value; "" for a command that does not use a training run.
        default: checkpoint to use if there is no built-in model, or "".
    """
    return UsedModel(flags, hub, output_dir, default)


def _has_flags(model: ModelFiles) -> bool:
    # A user's vocabulary or config does not belong to the built-in model.
    return bool(model.init_checkpoint or model.vocab_file or model.bert_config_file)


def _named(model: ModelFiles) -> CheckpointPath | None:
    """Return the checkpoint in --init_checkpoint; None if it is not given, or RANDOM."""
    if model.init_checkpoint in ("", None, RANDOM):
        return None
    return find_checkpoint(model.init_checkpoint, strict=model.strict)


def named_folder(model: ModelFiles) -> str | None:
    """Return the directory of the checkpoint in --init_checkpoint, or None."""
    path = model.init_checkpoint
    # Finding an undamaged checkpoint in a directory reads all of it, which also happens later.
    if path and path != RANDOM and files.is_directory(path) and not files.exists(f"{path}.index"):
        folder = model_folder(path)
        if latest_checkpoint(folder):
            return folder
    named = _named(model)
    return named.folder if named else None


def _pretrained(model: ModelFiles, hub: HubEncoder, default: str) -> CheckpointPath:
    """Return the checkpoint in the flags, or the built-in model; for arguments, see `model_to_use`."""
    if hub.hub_module and not model.init_checkpoint:
        return find_module(hub.hub_module, "hub_module")
    has_other_files = bool(model.vocab_file or model.bert_config_file)
    return named_or_builtin(model.init_checkpoint, has_other_files, default, model.strict)


def _trained(output_dir: str, strict: bool) -> CheckpointPath:
    """Return the run's checkpoint in output_dir; raise InputError without one."""
    latest = newest_undamaged(model_folder(output_dir), strict)
    if latest is None:
        raise InputError(
            f"{output_dir}: holds no trained model; check --output_dir, add --do_train, or give "
            "--init_checkpoint a fine-tuned one"
        )
    return find_checkpoint(latest)


def belongs_to_run(checkpoint_folder: str, output_dir: str) -> bool:
    """Return whether checkpoints in a directory belong to the run in output_dir."""
    # Compare real paths: --output_dir may be a link, or relative.
    inner, outer = files.resolve(checkpoint_folder), files.resolve(output_dir)
    has_subfolders = files.exists(os.path.join(output_dir, BEST_FILE))
    is_best = inner == os.path.join(outer, BEST)
    return inner == outer or is_best or (has_subfolders and inner.startswith(outer + os.sep))


def builtin_message(checkpoint: CheckpointPath | None, config: BertConfig | ModuleConfig) -> str | None:
    """Return a log line if the checkpoint is the built-in pre-trained model, otherwise None."""
    if not checkpoint or checkpoint.handle != BUILTIN_MODEL:
        return None
    size = f"{config.num_hidden_layers} layers of width {config.hidden_size}, {config.vocab_size:,} words"
    return f"no model was given: the built-in one is used, pre-trained on English text: {size}"


def random_start_message(init_checkpoint: str, is_builtin: bool) -> tuple[int, str]:
    """Return (level, line) for the log when training starts from random weights.

    Args:
        is_builtin: whether the config is the small built-in one.
    """
    if init_checkpoint == RANDOM:
        description = "the small built-in network" if is_builtin else "the model"
        return logging.INFO, f"--init_checkpoint={RANDOM}: {description} starts from random weights"
    if is_builtin:
        return logging.INFO, "no model was given: the small built-in one is used, which starts from RANDOM weights"
    return (
        logging.WARNING,
        "warning: no --init_checkpoint: training starts from RANDOM weights, not from a pre-trained model",
    )
