"""Where bert-convert writes to: the format, the files, and their appearing all together."""

import dataclasses
import os
from typing import NamedTuple

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import (
    ADDED_TOKENS,
    CONFIG,
    FLAGS,
    HUGGING_FACE_CONFIG,
    LABELS,
    SAFETENSORS,
    TOKENIZER,
    TOKENIZER_CONFIG,
    VOCABULARY,
)
from bert_cli.base.writing import publish_file
from bert_cli.model.config_files import read_config

_KERAS_ENDING = ".weights.h5"
# A file with this name in the target folder would be taken for the new model's where that brings
# none of its own.
_TELLING = (LABELS, FLAGS, VOCABULARY, TOKENIZER_CONFIG, TOKENIZER, ADDED_TOKENS)
_CONFIGS = (CONFIG, HUGGING_FACE_CONFIG)


class Format(NamedTuple):
    """A format of models: its name in messages, and the file that a model in a folder is found by."""

    title: str
    file: str


# By the names of settings.tools.MODEL_FORMATS.
FORMATS = {
    "tf1": Format("TF1 checkpoint", "bert_model.ckpt"),
    "hf": Format("Hugging Face folder", SAFETENSORS),
    "h5": Format("Keras .weights.h5", f"model{_KERAS_ENDING}"),
    "hub": Format("module for tensorflow-hub", "saved_model.pb"),
}


@dataclasses.dataclass(frozen=True)
class Target:
    """`format` is one of settings.tools.MODEL_FORMATS; `name` is the TF1 prefix's or the file's
    name in `folder`.
    """

    format: str
    folder: str
    name: str

    @property
    def weight_files(self) -> list[str]:
        """Names of the files with weights; the file that makes the checkpoint visible comes last."""
        if self.format == "hub":
            data = ("variables.data-00000-of-00001", "variables.index")
            return [*(os.path.join("variables", name) for name in data), "fingerprint.pb", self.name]
        return [f"{self.name}.data-00000-of-00001", f"{self.name}.index"] if self.format == "tf1" else [self.name]

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)


def find_target(path: str, to_format: str) -> Target:
    """What --to and --to_format mean; InputError where they do not go together.

    A name that ends in .weights.h5 is a Keras file, one with .ckpt in it is the prefix of a TF1
    checkpoint, and any other is a folder, which becomes Hugging Face's unless to_format (a format,
    or "auto") says otherwise.
    """
    name = os.path.basename(path.rstrip("/"))
    # A folder that is there decides before its name does: model.ckpt may be a folder.
    is_folder = files.is_directory(path) or path.endswith("/")
    if is_folder or not (".ckpt" in name or name.endswith((".h5", ".safetensors"))):
        chosen = "hf" if to_format == "auto" else to_format
        if files.exists(path) and not is_folder:
            raise InputError(f"--to={path}: is a file, a folder is needed")
        return Target(chosen, path.rstrip("/") or "/", FORMATS[chosen].file)
    said = "h5" if name.endswith(".h5") else "hf" if name.endswith(".safetensors") else "tf1"
    if to_format not in ("auto", said):
        raise InputError(f"--to={path}: this is a name for --to_format={said}, not for --to_format={to_format}")
    # save_weights of Keras 3 refuses any other ending.
    if said == "h5" and not name.endswith(_KERAS_ENDING):
        raise InputError(f"--to={path}: Keras wants a name that ends in {_KERAS_ENDING}")
    if said == "hf" and name != "model.safetensors":
        raise InputError(f"--to={path}: in a Hugging Face folder the file is called model.safetensors; give the folder")
    # Completion by the shell ends at a file, while the prefix is meant.
    if said == "tf1" and (name.endswith((".index", ".meta")) or ".data-" in name):
        raise InputError(f"--to={path}: give the prefix, {name.rpartition('.')[0]}")
    return Target(said, os.path.dirname(path) or ".", name)


def check_free(target: Target, overwrite: bool) -> None:
    """InputError where files with the target's names exist already."""
    for name in () if overwrite else target.weight_files:
        if files.exists(target.path(name)):
            raise InputError(f"{target.path(name)}: exists already; give another --to, or --overwrite")


def _is_same(name: str, staged: str, present: str) -> bool:
    if files.read_bytes(staged) == files.read_bytes(present):
        return True
    # Google's own file has more keys than ours, and none of them changes the model.
    return name == CONFIG and _is_same_model(staged, present)


def _is_same_model(one: str, other: str) -> bool:
    configs = [read_config(path) for path in (one, other)]
    # hidden_act and gelu together name one function, so they are compared by what they make of it.
    bare = [dataclasses.replace(config, hidden_act="linear", gelu="tanh") for config in configs]
    return bare[0] == bare[1] and configs[0].activation == configs[1].activation


def _check_neighbours(staged: str, target: Target, companions: list[str]) -> None:
    """InputError where a file that is not replaced would be read as one of the converted model."""
    if target.format == "hub":  # its sidecar files have folders of their own
        return
    for name in _TELLING:
        if name not in companions and files.exists(target.path(name)):
            raise InputError(f"{target.path(name)}: belongs to another model than the converted one; give another --to")
    written = next(name for name in _CONFIGS if name in companions)
    for name in _CONFIGS:
        other = target.path(name)
        if name not in companions and files.exists(other) and not _is_same_model(os.path.join(staged, written), other):
            raise InputError(f"{other}: describes another model than the converted one; give another --to")


def publish(staged: str, target: Target, companions: list[str], overwrite: bool, is_source_folder: bool) -> list[str]:
    """Move the companions and then the weights from `staged` into the target folder; returns the
    names of new files.

    A sidecar file that exists already with the same content is left as it is. InputError, before
    anything is moved, where one says something else and `overwrite` is not set, or where a
    companion of another model would be taken for one of this. is_source_folder: the files there
    belong to the model that is converted.
    """
    present = [name for name in companions if files.exists(target.path(name))]
    kept = [name for name in present if _is_same(name, os.path.join(staged, name), target.path(name))]
    # All are checked before the first is moved, so that an error leaves the folder as it was.
    for name in present:
        if name not in kept and not overwrite:
            raise InputError(f"{target.path(name)}: exists already and differs; give another --to, or --overwrite")
    _check_neighbours(staged, target, companions + (list(_TELLING) if is_source_folder else []))
    new = [name for name in companions if name not in kept] + target.weight_files
    for name in reversed(target.weight_files):  # never new sidecar files with old weights
        files.remove(target.path(name))
    # Weights come after their companions, and the file that makes them visible last, so that no
    # reader sees a part.
    for name in new:
        publish_file(os.path.join(staged, name), target.path(name))
    return new
