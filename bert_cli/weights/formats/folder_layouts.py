"""Directories that hold a model in a subdirectory, or a model of another program."""

import os

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import FETCH, read_json
from bert_cli.base.log import warn_once
from bert_cli.base.names import HUGGING_FACE_CONFIG, KERAS_HUB_TASK, MODULES, keras_hub_class

# File next to a model -> its meaning, for models that are used without it.
_UNREAD = {
    "model_head.pkl": "the classifier of SetFit is a pickle, which could run code; the encoder alone is used",
    KERAS_HUB_TASK: "it holds the head of a KerasHub task; the encoder alone is used",
}
SAVED_MODEL = "saved_model.pb"
_KERAS_HUB_BERT = "BertBackbone"


def inner_folder(folder: str) -> str:
    """Return the directory with the model's files, which may be a subdirectory of `folder`.

    It is a snapshot in the cache of Hugging Face's hub, or the encoder in an older directory of
    sentence-transformers.

    Raises:
        InputError: if there are several snapshots, and none of them is the current one.
    """
    snapshots = os.path.join(folder, "snapshots")
    if files.is_directory(snapshots):
        return _find_snapshot(folder, snapshots)
    if os.path.basename(folder.rstrip("/")) == "snapshots":
        return _find_snapshot(os.path.dirname(folder.rstrip("/")), folder)
    modules = os.path.join(folder, MODULES)
    if files.exists(modules) and not files.exists(os.path.join(folder, HUGGING_FACE_CONFIG)):
        listed = read_json(modules, FETCH)
        first = listed[0] if isinstance(listed, list) and listed else None
        name = first.get("path") if isinstance(first, dict) else None
        # A path may be untrusted: accept only the name of a subdirectory.
        if isinstance(name, str) and name == os.path.basename(name) != "" and name not in (".", ".."):
            inner = os.path.join(folder, name)
            return inner if files.is_directory(inner) else folder
    return folder


def _find_snapshot(folder: str, snapshots: str) -> str:
    """Return the only snapshot, or the snapshot that refs/main names."""
    names = [name for name in files.list_directory(snapshots) if files.is_directory(os.path.join(snapshots, name))]
    reference = os.path.join(folder, "refs", "main")
    current = files.read_bytes(reference).decode("utf-8", "replace").strip() if files.exists(reference) else ""
    if current in names:
        return os.path.join(snapshots, current)
    if len(names) == 1:
        return os.path.join(snapshots, names[0])
    problem = f"holds {len(names)} snapshots, and refs/main names none of them" if names else "holds no snapshot"
    raise InputError(f"{snapshots}: {problem}; give the directory of one, such as {snapshots}/HASH")


def name_unread_files(folder: str) -> None:
    """Log once which files next to a model's weights change its answers and are not read."""
    for name, meaning in _UNREAD.items():
        if files.exists(os.path.join(folder, name)):
            warn_once(f"warning: {os.path.join(folder, name)}: not read: {meaning}")


def is_keras_hub_bert(folder: str) -> bool:
    """Return whether a directory is a preset of KerasHub; raise InputError for other networks."""
    class_name = _keras_hub_class(folder)
    refuse_if(
        class_name not in ("", _KERAS_HUB_BERT),
        f"{folder}: is a preset of KerasHub ({class_name}), of which only {_KERAS_HUB_BERT} is read; take the same "
        "model from Hugging Face's hub (config.json, vocab.txt and model.safetensors)",
    )
    return bool(class_name)


def _keras_hub_class(folder: str) -> str:
    """Return the class in a preset of KerasHub, "" for other directories."""
    config = os.path.join(folder, HUGGING_FACE_CONFIG)
    if not files.exists(config) or not any(name.endswith(".h5") for name in files.list_directory(folder)):
        return ""
    values = read_json(config, FETCH)
    return keras_hub_class(values) if isinstance(values, dict) else ""


def describe_other_model(folder: str) -> str:
    """Return a description of a directory's model from another program, with advice, or ""."""
    names = files.list_directory(folder)
    inner = next((name for name in names if files.exists(os.path.join(folder, name, SAVED_MODEL))), None)
    if inner:
        return f"holds a SavedModel in {inner}; if bert-export wrote it, give the model that it was exported from"
    return ""
