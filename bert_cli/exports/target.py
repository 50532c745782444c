"""Target of bert-convert: its format, its files, and their publication in a safe order."""

import dataclasses
import os
from typing import NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import (
    ADDED_TOKENS,
    CALIBRATION,
    CONFIG,
    FLAGS,
    HUGGING_FACE_CONFIG,
    LABELS,
    MODULES,
    SAFETENSORS,
    THRESHOLDS,
    TOKENIZER,
    TOKENIZER_CONFIG,
    VOCABULARY,
)
from bert_cli.base.writing import publish_file
from bert_cli.model.config_files import read_config

_KERAS_ENDING = ".weights.h5"
# Files that describe a model. An old one in the target directory would seem to belong to the new
# model if that does not have such a file.
_MODEL_FILES = (
    LABELS, FLAGS, VOCABULARY, TOKENIZER_CONFIG, TOKENIZER, ADDED_TOKENS, MODULES, CALIBRATION, THRESHOLDS,
)  # fmt: skip
_CONFIGS = (CONFIG, HUGGING_FACE_CONFIG)


class Format(NamedTuple):
    """A model format.

    Attributes:
        title: name for messages.
        file: file by which a model in a directory is found.
        needs_tensorflow: whether a Keras model writes it.
    """

    title: str
    file: str
    needs_tensorflow: bool = False


# The keys are settings.tools.MODEL_FORMATS.
FORMATS = {
    "tf1": Format("TF1 checkpoint", "bert_model.ckpt"),
    "hf": Format("Hugging Face folder", SAFETENSORS),
    "h5": Format("Keras .weights.h5", f"model{_KERAS_ENDING}", needs_tensorflow=True),
    "hub": Format("module for tensorflow-hub", "saved_model.pb", needs_tensorflow=True),
}


@dataclasses.dataclass(frozen=True)
class Target:
    """A converted model's format and path.

    Attributes:
        format: one of settings.tools.MODEL_FORMATS.
        folder: directory.
        name: file name or TF1 prefix in the directory.
    """

    format: str
    folder: str
    name: str

    @property
    def weight_files(self) -> list[str]:
        """Return weight file names; the file that makes the checkpoint visible comes last."""
        if self.format == "hub":
            data = ("variables.data-00000-of-00001", "variables.index")
            return [*(os.path.join("variables", name) for name in data), "fingerprint.pb", self.name]
        return [f"{self.name}.data-00000-of-00001", f"{self.name}.index"] if self.format == "tf1" else [self.name]

    def path(self, name: str) -> str:
        """Return the path to a file in the directory."""
        return os.path.join(self.folder, name)


def find_target(path: str, to_format: str) -> Target:
    """Return the target for --to and --to_format.

    A path that ends in .weights.h5 is a Keras file. A name with .ckpt is a TF1 prefix. Any other
    path is a directory, by default in Hugging Face's format.

    Args:
        to_format: a format, or "auto".

    Raises:
        InputError: if path and format do not fit together.
    """
    name = os.path.basename(path.rstrip("/"))
    # Check for a directory before the name: model.ckpt may be a directory.
    is_folder = files.is_directory(path) or path.endswith("/")
    if is_folder or not (".ckpt" in name or name.endswith((".h5", ".safetensors"))):
        chosen_format = "hf" if to_format == "auto" else to_format
        if files.exists(path) and not is_folder:
            raise InputError(f"--to={path}: is a file, a folder is needed")
        return Target(chosen_format, path.rstrip("/") or "/", FORMATS[chosen_format].file)
    endings = {".h5": "h5", ".safetensors": "hf"}
    implied_format = next((value for ending, value in endings.items() if name.endswith(ending)), "tf1")
    if to_format not in ("auto", implied_format):
        raise InputError(
            f"--to={path}: this is a name for --to_format={implied_format}, not for --to_format={to_format}"
        )
    # Keras 3's save_weights needs this ending.
    if implied_format == "h5" and not name.endswith(_KERAS_ENDING):
        raise InputError(f"--to={path}: Keras wants a name that ends in {_KERAS_ENDING}")
    if implied_format == "hf" and name != "model.safetensors":
        raise InputError(f"--to={path}: in a Hugging Face folder the file is called model.safetensors; give the folder")
    # Refuse file names, which a shell completes instead of the prefix.
    if implied_format == "tf1" and (name.endswith((".index", ".meta")) or ".data-" in name):
        raise InputError(f"--to={path}: give the prefix, {name.rpartition('.')[0]}")
    return Target(implied_format, os.path.dirname(path) or ".", name)


def check_free(target: Target, overwrite: bool) -> None:
    """Raise InputError if the target's weight files exist, unless `overwrite` is set."""
    for name in () if overwrite else target.weight_files:
        if files.exists(target.path(name)):
            raise InputError(f"{target.path(name)}: exists already; give another --to, or --overwrite")


def _has_same_content(name: str, staged: str, present: str) -> bool:
    if files.read_bytes(staged) == files.read_bytes(present):
        return True
    # Compare models: Google's bert_config.json has additional keys without effect.
    return name == CONFIG and _is_same_model(staged, present)


def _is_same_model(path: str, other_path: str) -> bool:
    configs = [read_config(config_file) for config_file in (path, other_path)]
    # Compare the resulting activation, because it depends on hidden_act and gelu together.
    without_activation = [dataclasses.replace(config, hidden_act="linear", gelu="tanh") for config in configs]
    return without_activation[0] == without_activation[1] and configs[0].activation == configs[1].activation


def _check_other_files(staged: str, target: Target, companions: list[str]) -> None:
    """Raise InputError if a file that is not replaced would seem to belong to the new model."""
    # A module's other files are in separate directories.
    if target.format == "hub":
        return
    for name in _MODEL_FILES:
        if name not in companions and files.exists(target.path(name)):
            raise InputError(f"{target.path(name)}: belongs to another model than the converted one; give another --to")
    written = next(name for name in _CONFIGS if name in companions)
    for name in _CONFIGS:
        existing = target.path(name)
        if (
            name not in companions
            and files.exists(existing)
            and not _is_same_model(os.path.join(staged, written), existing)
        ):
            raise InputError(f"{existing}: describes another model than the converted one; give another --to")


def publish(staged: str, target: Target, companions: list[str], overwrite: bool, is_source_folder: bool) -> list[str]:
    """Move the converted files into the target directory, and return the names of new files.

    A companion that already exists with the same content is not replaced.

    Args:
        staged: directory with the converted files.
        target: the result's format and path.
        companions: names of files other than weights.
        overwrite: replace companions with other content.
        is_source_folder: whether existing files in the directory belong to the source model.

    Raises:
        InputError: before anything is moved, if a companion exists with other content and
            `overwrite` is not set, or if another model's file would seem to belong to this one.
    """
    present = [name for name in companions if files.exists(target.path(name))]
    unchanged = [name for name in present if _has_same_content(name, os.path.join(staged, name), target.path(name))]
    # Check all files before moving the first, so that an error does not change the directory.
    for name in present:
        if name not in unchanged and not overwrite:
            raise InputError(f"{target.path(name)}: exists already and differs; give another --to, or --overwrite")
    _check_other_files(staged, target, companions + (list(_MODEL_FILES) if is_source_folder else []))
    published = [name for name in companions if name not in unchanged] + target.weight_files
    # Remove the old weights first, so that they never exist together with new companions.
    for name in reversed(target.weight_files):
        files.remove(target.path(name))
    # Move weights after their companions, and the file that makes them visible last, so that no
    # reader sees an incomplete model.
    for name in published:
        publish_file(os.path.join(staged, name), target.path(name))
    return published
