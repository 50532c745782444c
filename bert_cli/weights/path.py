"""Finding a checkpoint from what people type; no TensorFlow, so that a wrong path is reported at once."""

import dataclasses
import functools
import logging
import os
import re

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import read_json_object
from bert_cli.base.names import BEST_FILE, BUILTIN_MODEL, CHECKPOINT, HUGGING_FACE_CONFIG, SAFETENSORS, STATE
from bert_cli.base.writing import atomic_write
from bert_cli.weights import known_models
from bert_cli.weights.checkpoint_index import check_data, read_index
from bert_cli.weights.names import is_of_training

LOG = logging.getLogger("bert_cli")
TF1 = "tf1"
HUGGING_FACE = "hugging_face"
KERAS = "keras"
HUB = "hub"
_SHARD = re.compile(r"\.(index|meta|data-\d{5}-of-\d{5})$")
_NUMBERED = re.compile(r"^model\.ckpt-(\d+)\.index$")
_ASSETS = ("assets", "assets.extra")  # of a SavedModel: its own files, and those that others put beside it
_STATE_PATH = re.compile(r'^model_checkpoint_path:\s*"(.*)"\s*$', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class CheckpointPath:
    """A checkpoint that exists.

    `location` is a TF1 prefix, a folder in Hugging Face's layout, a .weights.h5 file, or the folder of a module for
    tensorflow-hub; `handle` is what messages call it where that is not its location: a module from an archive, or the
    built-in model.
    """

    kind: str
    location: str
    handle: str | None = None

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.handle or self.location

    @property
    def identity(self) -> str:
        """What it is called from any working directory."""
        return self.name if self.handle == BUILTIN_MODEL else files.absolute(self.name)

    @property
    def folder(self) -> str:
        return self.location if self.kind in (HUGGING_FACE, HUB) else os.path.dirname(self.location) or "."

    @property
    def file(self) -> str:
        """One of its files that is written with the weights."""
        inside = {TF1: ".index", HUGGING_FACE: f"/{SAFETENSORS}", HUB: "/saved_model.pb"}
        return self.location + inside.get(self.kind, "")

    def companion(self, *names: str) -> str | None:
        """The first of these files that stands beside the checkpoint, or among a module's assets; None for none."""
        folders = [os.path.join(self.folder, name) for name in _ASSETS] if self.kind == HUB else [self.folder]
        paths = (os.path.join(folder, name) for name in names for folder in folders)
        return next((path for path in paths if files.exists(path)), None)


def find_checkpoint(path: str, flag: str = "init_checkpoint", strict: bool = False) -> CheckpointPath:
    """Resolve a TF1 prefix, one of its files, a folder with a checkpoint, a Hugging Face folder or file, a .weights.h5,
    or the folder of a module for tensorflow-hub.

    strict: see newest_whole. Raises InputError, naming `flag`, where nothing that can be read is there.
    """
    prefix = _SHARD.sub("", path)
    if files.exists(prefix + ".index"):
        return CheckpointPath(TF1, prefix)
    name = os.path.basename(path.rstrip("/"))
    if name in (SAFETENSORS, "pytorch_model.bin") and files.exists(path):
        return _hugging_face_folder(os.path.dirname(path) or ".", flag)
    if name.endswith(".h5") and files.exists(path):
        return CheckpointPath(KERAS, path)
    if files.is_directory(path):
        return _find_in_folder(path, flag, strict)
    if name.endswith((".zip", ".tar.gz")) and files.exists(path):
        raise InputError(
            f"{path}: is an archive; unpack it and give the path of its bert_model.ckpt to --{flag} (a module for "
            "tensorflow-hub is given to --hub_module as it is)"
        )
    if hint := known_models.advice(path, flag):
        raise InputError(hint)
    raise InputError(f"{path}: no checkpoint there (no {name}.index beside it); check --{flag}")


def _find_in_folder(folder: str, flag: str, strict: bool) -> CheckpointPath:
    folder = model_folder(folder)
    latest = newest_whole(folder, strict)
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
    if files.exists(os.path.join(folder, SAFETENSORS)):
        return _hugging_face_folder(folder, flag)
    module = module_folder(folder)
    if module:
        return CheckpointPath(HUB, module)
    keras = [name for name in files.list_directory(folder) if name.endswith(".weights.h5")]
    if len(keras) == 1:
        return CheckpointPath(KERAS, os.path.join(folder, keras[0]))
    return _hugging_face_folder(folder, flag)


def module_folder(folder: str) -> str | None:
    """The folder of a module for tensorflow-hub: this one, or, of what bert-export wrote, its encoder; None for neither."""
    for path in (folder, os.path.join(folder, "encoder")):
        if all(files.exists(os.path.join(path, name)) for name in ("saved_model.pb", "variables")):
            return path
    return None


def _hugging_face_folder(folder: str, flag: str) -> CheckpointPath:
    if files.exists(os.path.join(folder, SAFETENSORS)):
        if not files.exists(os.path.join(folder, HUGGING_FACE_CONFIG)):
            raise InputError(f"{folder}: has model.safetensors but no config.json; both are needed for --{flag}")
        return CheckpointPath(HUGGING_FACE, folder)
    if files.exists(os.path.join(folder, "pytorch_model.bin")):
        raise InputError(
            f"{folder}: pytorch_model.bin is a pickle, which could run code, and is not read; convert it once where it is "
            "trusted: transformers' AutoModel.from_pretrained(DIR).save_pretrained(DIR) writes model.safetensors"
        )
    raise InputError(
        f"{folder}: holds no checkpoint (no checkpoint file, *.index or model.safetensors); check --{flag}"
    )


def model_folder(folder: str) -> str:
    """The folder whose model counts where a run's folder is named: the one within it that its best.json tells, else itself.

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


def latest_checkpoint(folder: str) -> str | None:
    """Prefix of the newest checkpoint of a training folder, or None.

    The `checkpoint` file names it; where that file is missing, is no text, or names one that is gone, the highest
    model.ckpt-N is it.
    """
    named = _named_by_state(folder)
    if named:
        return named
    numbers = numbered_checkpoints(folder)
    return os.path.join(folder, f"{CHECKPOINT}{numbers[-1]}") if numbers else None


def newest_whole(folder: str, strict: bool = False, to_train: bool = False) -> str | None:
    """As latest_checkpoint, but an older one where the checksums of that one are wrong, with a warning; strict: InputError.

    to_train: what training alone needs must be sound too; InputError where no checkpoint is whole, as nothing of the run's
    folder may be changed then. Else it is the newest: who reads it will say what is wrong with it.
    """
    newest = latest_checkpoint(folder)
    if newest is None or not (reason := _damage(newest, to_train)):
        return newest
    if strict:
        raise InputError(
            f"{newest}: is damaged or cut short ({reason}); without --strict the checkpoint before it is used"
        )
    found = _NUMBERED.match(f"{os.path.basename(newest)}.index")
    for number in reversed(numbered_checkpoints(folder)):
        candidate = os.path.join(folder, f"{CHECKPOINT}{number}")
        if (found is None or number < int(found[1])) and not _damage(candidate, to_train):
            lost = f", and steps {number + 1} to {found[1]} are lost" if found else ""
            _warn(f"warning: {newest} is damaged or cut short ({reason}): {os.path.basename(candidate)} is used{lost}")
            return candidate
    if to_train:
        raise InputError(
            f"{newest}: is damaged or cut short ({reason}), and no checkpoint before it is whole; restore it, or "
            "--overwrite_output_dir starts anew"
        )
    return newest


def _damage(prefix: str, to_train: bool) -> str | None:
    """What is wrong with a checkpoint, None for one that is whole. Of a remote one only the index is looked at."""
    try:
        if files.is_remote(prefix):
            read_index(prefix)
        else:
            check_data(prefix, lambda name: to_train or not is_of_training(name))
    except (ValueError, OSError, InputError) as error:
        return str(error).removeprefix(f"{prefix}: ")
    return None


@functools.cache  # a command may look for its checkpoint several times
def _warn(text: str) -> None:
    LOG.warning("%s", text)


def _named_by_state(folder: str) -> str | None:
    """The prefix that the `checkpoint` file of a folder names, if it is there."""
    state = os.path.join(folder, STATE)
    if not files.exists(state) or files.is_directory(state):
        return None
    # After a power cut it can hold anything.
    found = _STATE_PATH.search(files.read_bytes(state).decode("utf-8", "replace"))
    # Folders get moved: an absolute path of another place still names a file of this one.
    candidates = (os.path.join(folder, found[1]), os.path.join(folder, os.path.basename(found[1]))) if found else ()
    return next((path for path in candidates if "\0" not in path and files.exists(path + ".index")), None)


def write_state(folder: str, step: int, kept: list[int]) -> None:
    """Write the `checkpoint` file: model.ckpt-`step` is the newest, those of `kept` are all that there are."""
    lines = [f'model_checkpoint_path: "{CHECKPOINT}{step}"']
    lines += [f'all_model_checkpoint_paths: "{CHECKPOINT}{number}"' for number in kept]
    with atomic_write(os.path.join(folder, STATE)) as file:
        file.write("\n".join(lines) + "\n")


def repair_state(folder: str, prefix: str) -> None:
    """Write the `checkpoint` file anew where it does not name this checkpoint of the folder, the newest whole one."""
    if _named_by_state(folder) != prefix:
        step = step_number(prefix)
        write_state(folder, step, [number for number in numbered_checkpoints(folder) if number <= step])


def numbered_checkpoints(folder: str) -> list[int]:
    """The N of all model.ckpt-N in a folder, ascending."""
    return sorted(int(found[1]) for name in files.list_directory(folder) if (found := _NUMBERED.match(name)))


def step_number(prefix: str) -> int:
    """The N of model.ckpt-N; InputError for another name."""
    number = prefix.rpartition("-")[2]
    if not number.isdecimal():
        raise InputError(f"{prefix}: the name does not end in -<step>, so it cannot be told how far its training is")
    return int(number)
