"""Finding a checkpoint from what people type; no TensorFlow."""

import dataclasses
import os
import re

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import read_json_object
from bert_cli.base.names import (
    BEST_FILE,
    BUILTIN_MODEL,
    CONFIG,
    HUGGING_FACE_CONFIG,
    SAFETENSORS,
    SAFETENSORS_INDEX,
    TF_MODEL,
)
from bert_cli.base.remote import refuse_web_address
from bert_cli.weights import known_models
from bert_cli.weights.electra import GENERATOR
from bert_cli.weights.formats.foreign import foreign_weights, is_foreign
from bert_cli.weights.training_folder import newest_undamaged

TF1 = "tf1"
HUGGING_FACE = "hugging_face"
KERAS = "keras"
HUB = "hub"
_SHARD = re.compile(r"\.(index|meta|data-\d{5}-of-\d{5})$")
# Weights of a Hugging Face folder, in the order in which they are preferred.
_HUGGING_FACE_FILES = (SAFETENSORS, SAFETENSORS_INDEX, TF_MODEL)
_HUGGING_FACE_SHARD = re.compile(r"model-\d+-of-\d+\.safetensors")
_ASSETS = ("assets", "assets.extra")  # of a SavedModel: its own files, and files that others added


@dataclasses.dataclass(frozen=True)
class CheckpointPath:
    """A checkpoint that exists.

    `location` is a TF1 prefix, a folder in Hugging Face's layout, a .weights.h5 file, or the folder
    of a module for tensorflow-hub; `handle` is what messages call it where that is not its
    location: a module from an archive, or the built-in model. `network`: of a TF1 checkpoint of
    ELECTRA, see weights.electra; "" for the first.
    """

    kind: str
    location: str
    handle: str | None = None
    network: str = ""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.handle or self.argument

    @property
    def argument(self) -> str:
        """What find_checkpoint finds it by."""
        return f"{self.location}/{self.network}" if self.network else self.location

    @property
    def identity(self) -> str:
        """What it is called from any working directory."""
        return self.name if self.handle == BUILTIN_MODEL else files.make_absolute(self.name)

    @property
    def folder(self) -> str:
        return self.location if self.kind in (HUGGING_FACE, HUB) else os.path.dirname(self.location) or "."

    @property
    def file(self) -> str:
        """One of its files that is written with the weights."""
        if self.kind == HUGGING_FACE:
            return hugging_face_weights(self.location) or os.path.join(self.location, SAFETENSORS)
        return self.location + {TF1: ".index", HUB: "/saved_model.pb"}.get(self.kind, "")

    @property
    def hugging_face_config(self) -> str | None:
        """Path of the config.json of a Hugging Face folder; None where there is none, as in the
        built-in model's, and for another format.
        """
        return self.companion(HUGGING_FACE_CONFIG) if self.kind == HUGGING_FACE else None

    def companion(self, *names: str) -> str | None:
        """The first of these files that is next to the checkpoint or among a module's assets; None
        for none.
        """
        folders = [os.path.join(self.folder, name) for name in _ASSETS] if self.kind == HUB else [self.folder]
        paths = (os.path.join(folder, name) for name in names for folder in folders)
        return next((path for path in paths if files.exists(path)), None)


def find_checkpoint(path: str, flag: str = "init_checkpoint", strict: bool = False) -> CheckpointPath:
    """Resolve a TF1 prefix, one of its files, a folder with a checkpoint, a Hugging Face folder or
    file, a .weights.h5, or the folder of a module for tensorflow-hub; a TF1 checkpoint of ELECTRA
    with /generator after it is its generator.

    strict: see newest_undamaged. Raises InputError, naming `flag`, where nothing that can be read
    is there.
    """
    refuse_web_address(path)
    # Any of its files may name a checkpoint, as a shell completes their names rather than the
    # prefix.
    prefix = _SHARD.sub("", path)
    if files.exists(prefix + ".index"):
        return CheckpointPath(TF1, prefix)
    name = os.path.basename(path.rstrip("/"))
    if files.is_directory(path):
        return _find_in_folder(path, flag, strict)
    is_hugging_face = name in _HUGGING_FACE_FILES or _HUGGING_FACE_SHARD.fullmatch(name) or is_foreign(name)
    if is_hugging_face and files.exists(path):
        return _hugging_face_folder(os.path.dirname(path) or ".", flag)
    if name.endswith(".h5") and files.exists(path):
        return CheckpointPath(KERAS, path)
    parent = os.path.dirname(path.rstrip("/"))
    if name == GENERATOR and parent:
        found = find_checkpoint(parent, flag, strict)
        if found.kind == TF1:
            return dataclasses.replace(found, network=GENERATOR)
    if name.endswith((".zip", ".tar.gz")) and files.exists(path):
        raise InputError(
            f"{path}: is an archive; unpack it and give the path of its bert_model.ckpt to "
            f"--{flag} (a module for tensorflow-hub is given to --hub_module as it is)"
        )
    if hint := known_models.advice(path, flag):
        raise InputError(hint)
    raise InputError(f"{path}: no checkpoint there ({name}.index does not exist); check --{flag}")


def _find_in_folder(folder: str, flag: str, strict: bool) -> CheckpointPath:
    folder = model_folder(folder)
    # A run's own checkpoints come first: its folder may hold an exported model as well.
    latest = newest_undamaged(folder, strict)
    if latest:
        return CheckpointPath(TF1, latest)
    prefixes = [name.removesuffix(".index") for name in files.list_directory(folder) if name.endswith(".index")]
    if "bert_model.ckpt" in prefixes or len(prefixes) == 1:
        chosen = "bert_model.ckpt" if "bert_model.ckpt" in prefixes else prefixes[0]
        return CheckpointPath(TF1, os.path.join(folder, chosen))
    if prefixes:
        raise InputError(
            f"{folder}: holds several checkpoints ({', '.join(prefixes[:5])}); give one of them to --{flag}"
        )
    if hugging_face_weights(folder):
        return _hugging_face_folder(folder, flag)
    module = module_folder(folder)
    if module:
        return CheckpointPath(HUB, module)
    keras = [name for name in files.list_directory(folder) if name.endswith(".weights.h5")]
    if len(keras) == 1:
        return CheckpointPath(KERAS, os.path.join(folder, keras[0]))
    return _hugging_face_folder(folder, flag)


def module_folder(folder: str) -> str | None:
    """The folder of a module for tensorflow-hub: this one, or, of what bert-export wrote, its
    encoder; None for neither.
    """
    for path in (folder, os.path.join(folder, "encoder")):
        if all(files.exists(os.path.join(path, name)) for name in ("saved_model.pb", "variables")):
            return path
    return None


def hugging_face_weights(folder: str) -> str | None:
    """Return the path of the weights in a Hugging Face folder, None if it has no file that is read."""
    paths = (os.path.join(folder, name) for name in _HUGGING_FACE_FILES)
    return next((path for path in paths if files.exists(path)), None)


def _hugging_face_folder(folder: str, flag: str) -> CheckpointPath:
    weights = hugging_face_weights(folder)
    if weights:
        # bert_config.json: as the built-in model has it.
        if not any(files.exists(os.path.join(folder, name)) for name in (HUGGING_FACE_CONFIG, CONFIG)):
            name = os.path.basename(weights)
            raise InputError(f"{folder}: has {name} but no config.json; both are needed for --{flag}")
        return CheckpointPath(HUGGING_FACE, folder)
    raise foreign_weights(folder) or InputError(
        f"{folder}: holds no checkpoint (no checkpoint file, *.index or model.safetensors); check --{flag}"
    )


def model_folder(folder: str) -> str:
    """The folder of the model to use of a run's folder: the folder within it that best.json names,
    else itself.

    InputError where that one is not there.
    """
    path = os.path.join(folder, BEST_FILE)
    if not files.exists(path) or files.is_directory(path):
        return folder
    name = read_json_object(path, "remove it to take the last checkpoint").get("folder")
    if not isinstance(name, str) or name in ("", ".", "..") or name != os.path.basename(name):
        return folder  # not ours: it leads out of the folder
    inner = os.path.join(folder, name)
    if not files.is_directory(inner):
        raise InputError(f"{path}: names {name}, which is not there; restore it, or remove {BEST_FILE}")
    return model_folder(inner)
