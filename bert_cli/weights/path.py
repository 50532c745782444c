"""Finding a checkpoint from a path in a flag, without TensorFlow."""

import dataclasses
import functools
import glob
import hashlib
import os
import re

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import read_json_object
from bert_cli.base.names import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    BEST_FILE,
    BUILTIN_MODEL,
    CONFIG,
    HUB_PREFIX,
    HUGGING_FACE_CONFIG,
    KERAS_HUB_VOCABULARY,
    KERAS_HUB_WEIGHTS,
    SAFETENSORS,
    SAFETENSORS_INDEX,
    TF_MODEL,
    VOCABULARY,
)
from bert_cli.base.remote import refuse_web_address
from bert_cli.model.networks import check_network
from bert_cli.weights.advice import download_advice, foreign_weights_error, is_foreign
from bert_cli.weights.formats.adapter_files import find_base
from bert_cli.weights.formats.folder_layouts import (
    describe_other_model,
    inner_folder,
    is_keras_hub_bert,
    name_unread_files,
)
from bert_cli.weights.formats.foreign_files import OTHER_ENDINGS, describe_file
from bert_cli.weights.formats.hub_files import fetch_model
from bert_cli.weights.training_folder import newest_undamaged
from bert_cli.weights.variables import GENERATOR, Reader

TF1 = "tf1"
HUGGING_FACE = "hugging_face"
KERAS = "keras"
HUB = "hub"
KERAS_HUB = "keras_hub"
_SHARD = re.compile(r"\.(index|meta|data-\d{5}-of-\d{5})$")
# Weight files in a Hugging Face directory, in order of preference.
_HUGGING_FACE_FILES = (SAFETENSORS, SAFETENSORS_INDEX, TF_MODEL)
_HUGGING_FACE_SHARD = re.compile(r"model-\d+-of-\d+\.safetensors")
_DIGEST_CHARS = 16  # of a SHA-256, enough to recognize weights
_BLOCK = 1 << 20  # bytes that a digest reads at a time
_ASSETS = ("assets", "assets.extra")  # in a SavedModel, for its own files and for files that users add
# File in a preset of KerasHub by the name of the file with the same contents in other formats. Its
# tokenizer.json has another format.
_KERAS_HUB_FILES = {VOCABULARY: KERAS_HUB_VOCABULARY, HUGGING_FACE_CONFIG: HUGGING_FACE_CONFIG}


@dataclasses.dataclass(frozen=True)
class CheckpointPath:
    """An existing checkpoint.

    Attributes:
        kind: TF1, HUGGING_FACE, KERAS, HUB or KERAS_HUB.
        location: a TF1 prefix, a Hugging Face directory, a .weights.h5 file (of this package or of
            KerasHub), or the directory of a tensorflow-hub module.
        handle: name for messages if the location is not meaningful, for example for a module from
            an archive, or the built-in model.
        network: the network in an ELECTRA checkpoint (see weights.electra); "" for the first one.
        weights_name: the file with the weights that a flag names in a Hugging Face directory; "" for
            the preferred one.
        adapter_folder: directory with an adapter of peft for this model, or "".
        is_strict: whether doubts about the weights are errors, see base.log.warn_or_fail.
        opened: reader that open_checkpoint returns, if the checkpoint has been opened before.
    """

    kind: str
    location: str
    handle: str | None = None
    network: str = ""
    weights_name: str = ""
    adapter_folder: str = ""
    is_strict: bool = dataclasses.field(default=False, compare=False)
    opened: Reader | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Return the name for messages."""
        return self.handle or self.argument

    @property
    def argument(self) -> str:
        """Return the path with which find_checkpoint finds this checkpoint."""
        if self.adapter_folder:
            return self.adapter_folder
        inner = self.network or self.weights_name
        return f"{self.location}/{inner}" if inner else self.location

    @property
    def identity(self) -> str:
        """Return a name that does not depend on the working directory."""
        return self.name if self.handle == BUILTIN_MODEL else files.make_absolute(self.name)

    @property
    def folder(self) -> str:
        """Return the checkpoint's directory."""
        return self.location if self.kind in (HUGGING_FACE, HUB) else os.path.dirname(self.location) or "."

    @property
    def file(self) -> str:
        """Return the path to a file that is written together with the weights."""
        if self.kind == HUGGING_FACE:
            name = self.weights_name or SAFETENSORS
            preferred_path = None if self.weights_name else hugging_face_weights(self.location)
            return preferred_path or os.path.join(self.location, name)
        return self.location + {TF1: ".index", HUB: "/saved_model.pb"}.get(self.kind, "")

    @property
    def hugging_face_config(self) -> str | None:
        """Return a Hugging Face directory's config.json path, or None.

        Other formats have no such file, nor has the built-in model.
        """
        return self.companion(HUGGING_FACE_CONFIG) if self.kind == HUGGING_FACE else None

    def companion(self, *names: str) -> str | None:
        """Return the path to the first existing file with one of these names, or None.

        The files are next to the checkpoint, or among a module's assets.
        """
        if self.kind == KERAS_HUB:
            names = tuple(_KERAS_HUB_FILES[name] for name in names if name in _KERAS_HUB_FILES)
        folders = [os.path.join(self.folder, name) for name in _ASSETS] if self.kind == HUB else [self.folder]
        paths = (os.path.join(folder, name) for name in names for folder in folders)
        return next((path for path in paths if files.exists(path)), None)


def find_checkpoint(path: str, flag: str = "init_checkpoint", strict: bool = False) -> CheckpointPath:
    """Return the checkpoint at a path.

    Args:
        path: one of the following:
            - a TF1 prefix, a file of such a checkpoint, or its directory;
            - the same for ELECTRA, with /generator at the end for its generator;
            - a Hugging Face directory, or a weight file in it;
            - a .weights.h5 file, or its directory;
            - a preset of KerasHub with a BertBackbone, or the weight file in it;
            - the directory with a tensorflow-hub module;
            - hf:OWNER/NAME or hf:OWNER/NAME@REVISION, which is downloaded from Hugging Face's hub.
        flag: flag name for messages.
        strict: see `newest_undamaged`.

    Raises:
        InputError: if there is no checkpoint in a supported format.
    """
    if path.startswith(HUB_PREFIX):
        model = fetch_model(path, flag, check_network)
        return dataclasses.replace(_find_in_folder(model.folder, flag, strict), handle=model.name)
    refuse_web_address(path)
    # Accept a file of the checkpoint: a shell completes file names rather than the prefix.
    prefix = _SHARD.sub("", path)
    if files.exists(prefix + ".index"):
        return CheckpointPath(TF1, prefix)
    name = os.path.basename(path.rstrip("/"))
    if files.is_directory(path):
        return _find_in_folder(path, flag, strict)
    # A model of another program, which the files next to it need not belong to.
    if name.endswith(OTHER_ENDINGS) and files.exists(path) and (description := describe_file(path)):
        raise InputError(f"{path}: {description}")
    is_hugging_face = name in _HUGGING_FACE_FILES or _HUGGING_FACE_SHARD.fullmatch(name) or is_foreign(name)
    if is_hugging_face and files.exists(path):
        checkpoint = _hugging_face_folder(os.path.dirname(path) or ".", flag)
        weights_name = SAFETENSORS_INDEX if _HUGGING_FACE_SHARD.fullmatch(name) else name
        is_other = weights_name in _HUGGING_FACE_FILES and weights_name != os.path.basename(checkpoint.file)
        return dataclasses.replace(checkpoint, weights_name=weights_name) if is_other else checkpoint
    if name.endswith(".h5") and files.exists(path):
        folder = os.path.dirname(path) or "."
        if is_keras_hub_bert(folder):
            return _keras_hub_preset(folder)
        if description := describe_other_model(folder):
            raise InputError(f"{path}: {description}")
        return CheckpointPath(KERAS, path)
    parent = os.path.dirname(path.rstrip("/"))
    if name == GENERATOR and parent and (checkpoint := find_checkpoint(parent, flag, strict)).kind == TF1:
        return dataclasses.replace(checkpoint, network=GENERATOR)
    if name.endswith((".zip", ".tar.gz")) and files.exists(path):
        raise InputError(
            f"{path}: is an archive; unpack it and give the path of its bert_model.ckpt to "
            f"--{flag} (a module for tensorflow-hub is given to --hub_module as it is)"
        )
    if hint := download_advice(path, flag):
        raise InputError(hint)
    if files.exists(path):
        unknown = f"is not a checkpoint in a format that is read; check --{flag}"
        raise InputError(f"{path}: {describe_file(path) or unknown}")
    missing = (
        f"no checkpoint there ({name}.index does not exist)" if files.exists(parent or ".") else "no such directory"
    )
    raise InputError(f"{path}: {missing}; check --{flag}")


def _find_in_folder(folder: str, flag: str, strict: bool) -> CheckpointPath:
    folder = model_folder(folder)
    # Prefer checkpoints of a training run: its directory may also contain an exported model.
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
    if files.exists(os.path.join(folder, ADAPTER_CONFIG)):
        base = _find_in_folder(find_base(folder), flag, strict)
        refuse_if(base.kind != HUGGING_FACE, f"{folder}: the adapter's base model is not a Hugging Face directory")
        return dataclasses.replace(base, adapter_folder=folder)
    inner = inner_folder(folder)
    if inner != folder:
        return _find_in_folder(inner, flag, strict)
    module = module_folder(folder)
    if module:
        return CheckpointPath(HUB, module)
    if is_keras_hub_bert(folder):
        return _keras_hub_preset(folder)
    if description := describe_other_model(folder):
        raise InputError(f"{folder}: {description}")
    keras = [name for name in files.list_directory(folder) if name.endswith(".weights.h5")]
    if len(keras) == 1:
        return CheckpointPath(KERAS, os.path.join(folder, keras[0]))
    return _hugging_face_folder(folder, flag)


def _keras_hub_preset(folder: str) -> CheckpointPath:
    name_unread_files(folder)
    weights = os.path.join(folder, KERAS_HUB_WEIGHTS)
    refuse_if(not files.exists(weights), f"{folder}: is a preset of KerasHub without {KERAS_HUB_WEIGHTS}; it is needed")
    return CheckpointPath(KERAS_HUB, weights)


def file_version(location: str) -> list[tuple[str, int, int]]:
    """Return name, size and time of change (ns) for all files of a checkpoint.

    Args:
        location: a prefix, file or directory, as in `CheckpointPath`.
    """
    escaped = glob.escape(location)
    # Without the point, model.ckpt-10 would belong to model.ckpt-1.
    patterns = [f"{escaped}/*"] if os.path.isdir(location) else [escaped, f"{escaped}.*"]
    paths = [path for pattern in patterns for path in glob.glob(pattern)]
    states = [(path, os.stat(path)) for path in sorted(paths)]
    return [(path, state.st_size, state.st_mtime_ns) for path, state in states]


def content_digest(checkpoint: CheckpointPath) -> str | None:
    """Return a digest of a checkpoint's weights; None for remote files and for shards.

    It recognizes a checkpoint after its directory was renamed, moved or copied.
    """
    # The index of a TF1 checkpoint or a module has a checksum per tensor, so it is enough.
    path = checkpoint.file
    if checkpoint.kind == HUB:
        path = os.path.join(checkpoint.location, "variables", "variables.index")
    if os.path.basename(path) == SAFETENSORS_INDEX or files.is_remote(path) or not files.exists(path):
        return None
    digest = _file_digest(path, files.file_size(path), files.mtime_ns(path))[:_DIGEST_CHARS]
    if checkpoint.adapter_folder:
        adapter = os.path.join(checkpoint.adapter_folder, ADAPTER_WEIGHTS)
        adapter_digest = _file_digest(adapter, files.file_size(adapter), files.mtime_ns(adapter))
        digest += f"/{adapter_digest[:_DIGEST_CHARS]}"
    # The two networks in ELECTRA's checkpoint share a file.
    return f"{digest}/{checkpoint.network}" if checkpoint.network else digest


def hugging_face_hub_digest(checkpoint: CheckpointPath) -> str | None:
    """Return the SHA-256 of the weights of a model of the hub; None for shards and other models."""
    is_of_hub = (checkpoint.handle or "").startswith(HUB_PREFIX)
    path = checkpoint.file
    if not is_of_hub or os.path.basename(path) == SAFETENSORS_INDEX:
        return None
    return _file_digest(path, files.file_size(path), files.mtime_ns(path))


# A sweep asks for the same file in each trial.
@functools.lru_cache(maxsize=8)
def _file_digest(path: str, size: int, time_ns: int) -> str:
    """Return the SHA-256 of a file with this size and time of change."""
    sha256 = hashlib.sha256()
    with files.open_binary(path) as file:
        while block := file.read(_BLOCK):
            sha256.update(block)
    return sha256.hexdigest()


def module_folder(folder: str) -> str | None:
    """Return the directory with a tensorflow-hub module, or None.

    This is `folder`, or its subdirectory "encoder" as bert-export writes it.
    """
    for path in (folder, os.path.join(folder, "encoder")):
        if all(files.exists(os.path.join(path, name)) for name in ("saved_model.pb", "variables")):
            return path
    return None


def hugging_face_weights(folder: str) -> str | None:
    """Return the path to the weights in a Hugging Face directory, or None without a supported file."""
    return next(filter(files.exists, (os.path.join(folder, name) for name in _HUGGING_FACE_FILES)), None)


def _hugging_face_folder(folder: str, flag: str) -> CheckpointPath:
    if weights := hugging_face_weights(folder):
        name_unread_files(folder)
        # Accept bert_config.json, too: the built-in model has it.
        if not any(files.exists(os.path.join(folder, name)) for name in (HUGGING_FACE_CONFIG, CONFIG)):
            name = os.path.basename(weights)
            raise InputError(f"{folder}: has {name} but no config.json; both are needed for --{flag}")
        return CheckpointPath(HUGGING_FACE, folder)
    # Name another network first: its weights in another format would not help.
    config = os.path.join(folder, HUGGING_FACE_CONFIG)
    if files.exists(config):
        check_network(config, read_json_object(config))
    raise foreign_weights_error(folder) or InputError(
        f"{folder}: holds no checkpoint (no checkpoint file, *.index or model.safetensors); check --{flag}"
    )


def model_folder(folder: str) -> str:
    """Return the directory with the model to use from a run.

    This is the subdirectory in best.json, or else `folder` itself.

    Raises:
        InputError: if the subdirectory does not exist.
    """
    path = os.path.join(folder, BEST_FILE)
    if not files.exists(path) or files.is_directory(path):
        return folder
    name = read_json_object(path, "remove it to take the last checkpoint").get("folder")
    if not isinstance(name, str) or name in ("", ".", "..") or name != os.path.basename(name):
        # Ignore a file that this package did not write: its path leaves the directory.
        return folder
    inner = os.path.join(folder, name)
    if not files.is_directory(inner):
        raise InputError(f"{path}: names {name}, which is not there; restore it, or remove {BEST_FILE}")
    return model_folder(inner)
