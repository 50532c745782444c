"""Files of a model: in the flags, next to its checkpoint, or built in."""

import dataclasses
import functools
import os
import pathlib
from collections.abc import Sequence
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import read_json_object
from bert_cli.base.names import (
    BEST,
    BUILTIN_MODEL,
    CONFIG,
    FLAGS,
    GRID,
    HUGGING_FACE_CONFIG,
    RANDOM,
    REPORT,
    SAFETENSORS,
    SEVERAL,
    TOKENIZER,
    VOCABULARY,
)
from bert_cli.flags.run_flags import read_flags, read_guesses
from bert_cli.model.config_keys import read_config_values
from bert_cli.model.networks import CONFIG_NEEDED, check_network
from bert_cli.weights.path import HUGGING_FACE, CheckpointPath, find_checkpoint

# Directory with vocabulary and config of a small network. Its weights are random: it is used for
# --init_checkpoint=random, and if the pre-trained weights are not installed.
BUILTIN = str(pathlib.Path(os.path.abspath(__file__)).parents[1] / "builtin")  # bert_cli/builtin
PRETRAINED = os.path.join(BUILTIN, "pretrained")


@dataclasses.dataclass(frozen=True)
class ModelPaths:
    """Files of a model.

    Attributes:
        vocab_file: vocab.txt or tokenizer.json; None for a model without vocabulary.
        config_file: the config; None only for a tensorflow-hub module and for a TF1 checkpoint from
            ELECTRA, which is configured by its variables.
        checkpoint: the checkpoint; None for random weights.
        is_builtin: whether this is the small built-in network.
        preprocessor: tensorflow-hub module that preprocesses text, or None.
    """

    vocab_file: str | None
    config_file: str | None
    checkpoint: CheckpointPath | None
    is_builtin: bool = False
    preprocessor: CheckpointPath | None = None

    @property
    def required_checkpoint(self) -> CheckpointPath:
        """Return the checkpoint if there must be one, as in a run without training."""
        assert self.checkpoint is not None, "InputError is raised before, where it is missing"
        return self.checkpoint

    @property
    def folder(self) -> str:
        """Return the checkpoint's directory."""
        return self.required_checkpoint.folder

    @property
    def config_name(self) -> str:
        """Return the name of the config's file or module, for messages."""
        return self.config_file or self.required_checkpoint.name

    @functools.cached_property
    def saved_flags(self) -> dict[str, str]:
        """Return the flags of the bert_cli run that made the checkpoint; {} for other checkpoints."""
        return read_flags(os.path.join(self.checkpoint.folder, FLAGS)) if self.checkpoint else {}

    @functools.cached_property
    def guesses(self) -> dict[str, str]:
        """Return flag values that this run derived from its data, see flags.run_flags."""
        return read_guesses(os.path.join(self.checkpoint.folder, FLAGS)) if self.checkpoint else {}


def find_paths(
    vocab_file: str | None,
    config_file: str | None,
    checkpoint: CheckpointPath | None,
    needs_vocab: bool,
    preprocessor: CheckpointPath | None = None,
) -> ModelPaths:
    """Find the model's files in the flags, in the checkpoint's directory, or built in.

    Args:
        vocab_file: vocabulary to use; None for the one next to the checkpoint.
        config_file: config to use; None for the one next to the checkpoint.
        checkpoint: the checkpoint, or None.
        needs_vocab: see load_model. If False, the small built-in network is not used.
        preprocessor: tensorflow-hub module that has a vocabulary, or None.
    """
    for path, flag in ((vocab_file, "vocab_file"), (config_file, "bert_config_file")):
        if path:
            files.check_readable(path, flag)
    if needs_vocab and not (vocab_file or config_file or checkpoint):
        return ModelPaths(*random_model(), None, is_builtin=True)
    # The preprocessor's vocabulary has priority, because the module's encoder was trained with it.
    if preprocessor:
        vocab_file = vocab_file or preprocessor.companion(VOCABULARY, TOKENIZER)
    if checkpoint:
        vocab_file = vocab_file or checkpoint.companion(VOCABULARY, TOKENIZER)
        config_file = config_file or checkpoint.companion(CONFIG, HUGGING_FACE_CONFIG)
    if needs_vocab and not vocab_file:
        # Another network has another type of vocabulary, so asking for vocab.txt would be wrong.
        if config_file:
            refuse_other_network(config_file)
        raise missing_file_error(checkpoint, "vocab_file", VOCABULARY, TOKENIZER)
    return ModelPaths(vocab_file, config_file, checkpoint, preprocessor=preprocessor)


def missing_file_error(checkpoint: CheckpointPath | None, flag: str, *names: str) -> InputError:
    """Return the error for a model without a file that is needed.

    Args:
        checkpoint: the checkpoint that lacks it, or None if flags name no checkpoint.
        flag: the flag that names such a file.
        names: names of such files next to a checkpoint.
    """
    if not checkpoint:
        return InputError(f"--{flag} is needed: give the {' or '.join(names)} that belongs to this model")
    return InputError(
        f"{checkpoint.name}: has no {' and no '.join(names)} next to it; copy the model's own there, or give --{flag}"
    )


def run_folders(checkpoint: CheckpointPath) -> list[str]:
    """Return the directories with the files of the run that made a checkpoint."""
    # A run writes thresholds.json only once, so for a checkpoint in best/ it is in the parent.
    parent, name = os.path.split(files.make_absolute(checkpoint.folder))
    is_best = name == BEST
    return [checkpoint.folder, *([parent] if is_best else [])]


def find_members(folders: Sequence[str]) -> list[str]:
    """Return the directories of single runs; a directory with several runs names all of them.

    Use the best cell of a grid.

    Raises:
        InputError: if a report names a directory that is not inside its own.
    """
    members: list[str] = []
    for folder in folders:
        path = os.path.join(folder, REPORT)
        several: Any = read_json_object(path).get(SEVERAL) if files.exists(path) else None
        names: list[str] = []
        if isinstance(several, dict):
            rows = [member["folder"] for member in several["members"]]
            names = [name for name in (several["best"],) if name] if several["kind"] == GRID else rows
        # A directory may be from somebody else, so its report must not lead to other models.
        outside = [
            name
            for name in names
            if not isinstance(name, str) or name != os.path.basename(name) or name in ("", ".", "..")
        ]
        refuse_if(outside, f"{path}: names {outside[:1]}, which is no subdirectory; restore the file, or name its runs")
        members += find_members([os.path.join(folder, name) for name in names]) if names else [folder]
    return members


def ensemble_members(folders: Sequence[str], source: str) -> list[str]:
    """Return the directories of an ensemble's members, see `find_members`.

    Args:
        folders: directories, as given.
        source: start for messages, such as "--ensemble".

    Raises:
        InputError: if there are fewer than two, or if one is named twice.
    """
    members = find_members(folders)
    refuse_if(len(members) < 2, f"{source}={','.join(folders)}: is one run; give several directories")
    paths = [files.resolve(member) for member in members]
    twice = next((member for member, path in zip(members, paths, strict=True) if paths.count(path) > 1), None)
    refuse_if(twice, f"{source}={','.join(folders)}: {twice} would be averaged twice; name it once")
    return members


def refuse_other_network(config_file: str) -> None:
    """Raise InputError for the config.json of an unsupported network, such as RoBERTa."""
    if os.path.basename(config_file) == HUGGING_FACE_CONFIG:
        check_network(config_file, read_json_object(config_file, needed=CONFIG_NEEDED))


def read_vocab_size(config_file: str) -> int | None:
    """Return the number of rows in a model's table of words; None if its config does not have it.

    Raises:
        InputError: if the file is damaged, or of an unsupported network.
    """
    values = read_config_values(config_file)
    check_network(config_file, values)
    size = values.get("vocab_size")
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 1):
        raise InputError(f"{config_file}: vocab_size must be a whole number above 0, found {size!r}")
    return size


def named_or_builtin(
    init_checkpoint: str, has_other_files: bool = False, default: str = "", strict: bool = False
) -> CheckpointPath:
    """Return the pre-trained model that the flags name, or the built-in one.

    Args:
        has_other_files: whether other flags name a vocabulary or a config, which do not belong to
            the built-in model.
        default: checkpoint to use if there is no built-in model, or "".
        strict: see `find_checkpoint`.

    Raises:
        InputError: if there is no checkpoint, or if random weights are requested.
    """
    if init_checkpoint == RANDOM:
        raise InputError(f"--init_checkpoint={RANDOM} is a start for training; here a pre-trained model is needed")
    builtin = None if init_checkpoint or has_other_files else pretrained_model()
    if builtin:
        return builtin
    if not (init_checkpoint or default):
        raise InputError("--init_checkpoint is needed: give a pre-trained model")
    return find_checkpoint(init_checkpoint or default, strict=strict)


def pretrained_model() -> CheckpointPath | None:
    """Return the built-in pre-trained model; None if its weights are not installed."""
    # The weights are large, so some copies of the package do not have them.
    if not files.exists(os.path.join(PRETRAINED, SAFETENSORS)):
        return None
    return CheckpointPath(HUGGING_FACE, PRETRAINED, handle=BUILTIN_MODEL)


def random_model() -> tuple[str, str]:
    """Return vocab.txt and bert_config.json for the small built-in network with random weights."""
    return os.path.join(BUILTIN, VOCABULARY), os.path.join(BUILTIN, CONFIG)
