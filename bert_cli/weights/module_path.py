"""Finding a tensorflow-hub module from what people type; no TensorFlow, unless a module must be
downloaded.
"""

import os
import tarfile
import warnings
import zlib

from bert_cli.base import files
from bert_cli.base.errors import InputError, first_line
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.weights.path import HUB, CheckpointPath, module_folder


def is_url(handle: str) -> bool:
    """Whether a module must be downloaded, which imports TensorFlow."""
    return handle.startswith(("http://", "https://"))


def find_module(handle: str, flag: str) -> CheckpointPath:
    """Resolve a folder, a .tar.gz, or a URL, which tensorflow-hub downloads and keeps.

    An archive is unpacked into a temporary folder, which is gone when the process ends. InputError,
    naming `flag`, where there is no module.
    """
    if is_url(handle):
        folder = _download(handle, flag)
    elif files.is_directory(handle):
        folder = handle
    elif not files.exists(handle):
        raise InputError(f"{handle}: no such module; --{flag} takes a folder, a .tar.gz, or a URL")
    else:
        folder = _unpack(handle, flag)
    found = module_folder(folder)
    if found is None:
        raise InputError(f"{handle}: holds no module for tensorflow-hub (no saved_model.pb); check --{flag}")
    return CheckpointPath(HUB, found, None if found == handle else handle)


def own_module(config_file: str, handle: str) -> str | None:
    """Path of the module that a folder's config names, where it lies in that folder; None for one
    that lies elsewhere.

    A config may come from anybody: a URL in it is never followed, nor a path or a link that leads
    out of its folder.
    """
    folder = os.path.realpath(os.path.dirname(config_file) or ".")
    path = os.path.join(folder, handle)
    if files.is_remote(handle) or files.is_remote(config_file) or not handle:
        return None
    # realpath follows links, so that one which leads elsewhere is outside.
    inside = os.path.realpath(path).startswith(os.path.join(folder, ""))
    return path if inside and ".." not in handle.split("/") else None


def _download(handle: str, flag: str) -> str:
    setup_tensorflow()
    import tensorflow as tf

    # Only here: a module that is not a URL needs none of it, and it needs setuptools below 81.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its import of pkg_resources
        import tensorflow_hub as hub
    try:
        return hub.resolve(handle)
    except (OSError, ValueError, RuntimeError, tf.errors.OpError) as error:
        raise InputError(f"{handle}: cannot be downloaded: {first_line(error)}; check --{flag}") from None


def _unpack(path: str, flag: str) -> str:
    folder = files.make_process_folder()
    try:
        with files.open_binary(path) as file, tarfile.open(fileobj=file, mode="r:gz") as archive:
            archive.extractall(folder, filter="data")  # nothing outside of the folder, no devices
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        raise InputError(f"{path}: is an incomplete or damaged .tar.gz of a module: {error}; check --{flag}") from None
    entries = os.listdir(folder)
    inner = os.path.join(folder, entries[0]) if len(entries) == 1 else folder
    return inner if os.path.isdir(inner) and module_folder(folder) is None else folder
