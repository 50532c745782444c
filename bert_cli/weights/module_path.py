"""Finding a tensorflow-hub module from a flag; only a download imports TensorFlow."""

import os
import shutil
import warnings
import zlib
from typing import TYPE_CHECKING

from bert_cli.base import files
from bert_cli.base.errors import InputError, first_line
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.weights.path import HUB, CheckpointPath, module_folder

if TYPE_CHECKING:
    import tarfile


def is_url(handle: str) -> bool:
    """Return whether a module must be downloaded, which imports TensorFlow."""
    return handle.startswith(("http://", "https://"))


def find_module(handle: str, flag: str) -> CheckpointPath:
    """Return the module at a path or URL, after downloading or unpacking it.

    tensorflow-hub caches a download. An archive is unpacked into a directory that is deleted when
    the process ends.

    Args:
        handle: a directory, a .tar.gz file or a URL.
        flag: flag name for messages.

    Raises:
        InputError: if there is no module.
    """
    if is_url(handle):
        folder = _download(handle, flag)
    elif files.is_directory(handle):
        folder = handle
    elif not files.exists(handle):
        raise InputError(f"{handle}: no such module; --{flag} takes a folder, a .tar.gz, or a URL")
    else:
        folder = _unpack(handle, flag)
    module = module_folder(folder)
    if module is None:
        raise InputError(f"{handle}: holds no module for tensorflow-hub (no saved_model.pb); check --{flag}")
    return CheckpointPath(HUB, module, None if module == handle else handle)


def bundled_module(config_file: str, handle: str) -> str | None:
    """Return the path to a config's module, or None if that is in another directory.

    A config may be untrusted. Therefore URLs are not followed, nor paths and links that leave the
    config's directory.

    Args:
        config_file: path to the config.
        handle: module in the config.
    """
    folder = os.path.realpath(os.path.dirname(config_file) or ".")
    path = os.path.join(folder, handle)
    if files.is_remote(handle) or files.is_remote(config_file) or not handle:
        return None
    # Use realpath, which resolves links, so that a link to another directory is refused.
    inside = os.path.realpath(path).startswith(os.path.join(folder, ""))
    return path if inside and ".." not in handle.split("/") else None


def _download(handle: str, flag: str) -> str:
    setup_tensorflow()
    import tensorflow as tf

    # Import late: tensorflow_hub needs setuptools below 81, and only URLs need it.
    with warnings.catch_warnings():
        # Ignore the warning about pkg_resources, which tensorflow_hub imports.
        warnings.simplefilter("ignore")
        import tensorflow_hub as hub
    try:
        return hub.resolve(handle)
    except (OSError, ValueError, RuntimeError, tf.errors.OpError) as error:
        raise InputError(f"{handle}: cannot be downloaded: {first_line(error)}; check --{flag}") from None


def _unpack(path: str, flag: str) -> str:
    # Import late: few models are archives, and this imports all modules for compressed files.
    import tarfile

    folder = files.make_process_folder()
    try:
        with files.open_binary(path) as file, tarfile.open(fileobj=file, mode="r:gz") as archive:
            for member in archive:
                if ".." in member.name.split("/") or not (member.isreg() or member.isdir()):
                    raise InputError(
                        f"{path}: holds {member.name!r}, which is a link, a device or a path outside the archive; "
                        f"if you trust it, unpack it yourself and pass the directory to --{flag}"
                    )
                _extract(archive, member, os.path.join(folder, member.name.lstrip("/")))
    except (OSError, EOFError, ValueError, tarfile.TarError, zlib.error) as error:
        raise InputError(f"{path}: is an incomplete or damaged .tar.gz of a module: {error}; check --{flag}") from None
    entries = os.listdir(folder)
    inner = os.path.join(folder, entries[0]) if len(entries) == 1 else folder
    return inner if os.path.isdir(inner) and module_folder(folder) is None else folder


def _extract(archive: "tarfile.TarFile", member: "tarfile.TarInfo", target: str) -> None:
    """Write a file or directory of an archive.

    The filters of TarFile.extractall would do, but Python has them only since 3.11.4.
    """
    content = archive.extractfile(member)
    os.makedirs(os.path.dirname(target) if content else target, exist_ok=True)
    if content:
        with content, open(target, "wb") as file:
            shutil.copyfileobj(content, file)
