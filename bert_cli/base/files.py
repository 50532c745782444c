"""Finding, reading and removing local and remote files.

TensorFlow is imported only if a remote path such as `gs://…` is used. Errors there are InputErrors.
"""

import atexit
import errno
import functools
import glob
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Sequence
from typing import TypeVar

from bert_cli.base.errors import InputError, refuse_endless, refuse_if
from bert_cli.base.names import HUB_PREFIX, STANDARD
from bert_cli.base.remote import gfile, is_remote, open_remote, reporting_remote_errors

_Result = TypeVar("_Result")
# First line and longest size of a Git LFS pointer.
_POINTER_START, _MAX_POINTER_BYTES = b"version https://git-lfs.github.com/spec/", 1024


def _report_remote_errors(function: Callable[[str], _Result]) -> Callable[[str], _Result]:
    """Wrap a function that takes a path: errors with a remote path become InputErrors."""

    @functools.wraps(function)
    def wrapper(path: str) -> _Result:
        with reporting_remote_errors(path):
            return function(path)

    return wrapper


@_report_remote_errors
def exists(path: str) -> bool:
    """Return whether a file or directory exists; raise PermissionError if that cannot be known."""
    return gfile(path).exists(path) if is_remote(path) else _status(path) is not None


@_report_remote_errors
def is_directory(path: str) -> bool:
    """Return whether a path is a directory; raise PermissionError if that cannot be known."""
    if is_remote(path):
        return gfile(path).isdir(path)
    status = _status(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def _status(path: str) -> os.stat_result | None:
    """Return a local file's status, or None if it does not exist.

    Raise PermissionError about a directory that cannot be searched; os.path.exists
    would return False.
    """
    try:
        return os.stat(path)
    except PermissionError as error:
        folder = os.path.dirname(path)
        while folder and not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        raise PermissionError(error.errno, error.strerror, folder or path) from None
    except (OSError, ValueError):  # ValueError: a NUL character, which no name has
        return None


@_report_remote_errors
def list_directory(path: str) -> list[str]:
    """Return the sorted names in a directory, or an empty list if it does not exist."""
    if not is_directory(path):
        return []
    names = gfile(path).listdir(path) if is_remote(path) else os.listdir(path)
    return sorted(name.rstrip("/") for name in names)


@_report_remote_errors
def match(pattern: str) -> list[str]:
    """Return the sorted paths that match a glob pattern; a file's name matches itself.

    Raise PermissionError if the pattern needs an unreadable directory, which `glob` would skip.
    """
    if is_remote(pattern):
        return sorted(gfile(pattern).glob(pattern))
    parent, name = os.path.split(pattern)
    while name:
        needed = os.R_OK | os.X_OK if glob.has_magic(name) else os.X_OK
        for folder in glob.glob(parent) if parent else ["."]:
            if os.path.isdir(folder) and not os.access(folder, needed):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)
        parent, name = os.path.split(parent)
    return sorted(glob.glob(pattern))


def is_pattern(path: str) -> bool:
    """Return whether a flag names several files, with a glob pattern or a comma-separated list."""
    return any(sign in path for sign in "*?[,") and not exists(path)


@_report_remote_errors
def mtime_ns(path: str) -> int:
    """Return when an existing file was last changed, in nanoseconds."""
    return gfile(path).stat(path).mtime_nsec if is_remote(path) else os.stat(path).st_mtime_ns


@_report_remote_errors
def make_directory(path: str) -> None:
    """Make a local or remote directory and its missing parents."""
    if is_remote(path):
        gfile(path).makedirs(path)
        return
    try:
        os.makedirs(path, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{path}: is a file, where a directory is needed; give another path") from None
    except OSError as error:
        raise InputError(f"{path}: cannot make this directory: {error.strerror}") from None


def check_can_write(folder: str, flag: str) -> None:
    """Raise InputError, naming `flag`, unless files can be created in `folder` (may be missing)."""
    advice = f"; check --{flag}" if flag else ""
    if is_remote(folder):
        return
    path = os.path.abspath(folder)
    # Check the nearest existing parent; lexists also finds a broken link, which is in the way.
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    refuse_if(not os.path.isdir(path), f"{path}: is a file, a folder is needed{advice}")
    refuse_if(
        not os.access(path, os.W_OK | os.X_OK),
        f"{path}: no permission to write there{advice}",
    )


def check_output_files(paths: Sequence[str | None], input_paths: Sequence[str | None]) -> None:
    """Raise InputError unless files can be created at `paths` without overwriting an input.

    None, "" and "-" are no files. A symbolic or hard link counts as its target.

    Args:
        paths: output files.
        input_paths: input files.
    """
    inputs = [path for path in input_paths if path and path != STANDARD]
    advice = "check --output_file"
    for path in (path for path in paths if path and path != STANDARD):
        folder = os.path.dirname(path) or "."
        if not is_remote(path):
            is_folder = os.path.isdir(path) or path.endswith(os.sep)
            is_device = not os.path.isfile(path)
            refuse_if(not os.path.isdir(folder), f"{folder}: no such folder; make it, or {advice}")
            refuse_if(is_folder, f"{path}: is a directory, a file is needed; {advice}")
            refuse_if(
                os.path.exists(path) and is_device,
                f"{path}: is a device, a file is needed; {advice}",
            )
        is_input = any(_is_same_file(path, input_path) for input_path in inputs)
        refuse_if(is_input, f"{path}: would be written over, but it is read; {advice}")
        check_can_write(folder, "output_file")


def _is_same_file(path: str, other_path: str) -> bool:
    if not (is_remote(path) or is_remote(other_path)) and os.path.exists(path) and os.path.exists(other_path):
        return os.path.samefile(path, other_path)
    return resolve(path) == resolve(other_path)


def resolve(path: str) -> str:
    """Return a local path without links; return a remote path or a hub's name unchanged."""
    return path if _has_no_directory(path) else os.path.realpath(path)


def make_absolute(path: str) -> str:
    """Return a local path as an absolute path; return a remote path or a hub's name unchanged."""
    return path if _has_no_directory(path) else os.path.abspath(path)


def _has_no_directory(path: str) -> bool:
    """Return whether a path is remote, or the name of a model on the hub."""
    return is_remote(path) or path.startswith(HUB_PREFIX)


@_report_remote_errors
def remove(path: str) -> None:
    """Remove one file, if it exists."""
    if is_remote(path):
        if exists(path):
            gfile(path).remove(path)
        return
    try:
        os.remove(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"{path}: cannot be removed: {error.strerror}") from None


def check_readable(path: str, flag: str) -> None:
    """Raise InputError, naming `flag`, unless `path` is a file that can be opened."""
    advice = f"; check --{flag}" if flag else ""
    refuse_if(not exists(path), f"{path}: no such file{advice}")
    refuse_if(is_directory(path), f"{path}: is a directory, a file is needed{advice}")
    is_secret = not is_remote(path) and not os.access(path, os.R_OK)
    refuse_if(is_secret, f"{path}: permission denied{advice}")


def is_stream(path: str) -> bool:
    """Return whether a path is standard input or a pipe, which can be read only once."""
    is_file = os.path.isfile(path) or os.path.isdir(path)
    return path == STANDARD or (os.path.exists(path) and not is_file)


def is_empty(path: str) -> bool:
    """Return whether a file has no byte. A pipe is not empty, though its size is 0."""
    is_file = exists(path) and not (is_directory(path) or is_stream(path))
    return is_file and file_size(path) == 0


def check_not_empty(path: str, flag: str) -> None:
    """Raise InputError, naming `flag`, unless `path` is a readable file with at least one byte."""
    check_readable(path, flag)
    refuse_if(is_empty(path), f"{path}: is empty; check --{flag}")


def _refuse_pointer(path: str, start: bytes) -> None:
    """Raise InputError if a file starts like a Git LFS pointer."""
    refuse_if(
        start.startswith(_POINTER_START),
        f"{path}: is a pointer of Git LFS, not the file itself; run `git lfs install` and `git lfs pull` in its folder",
    )


def check_no_pointer(path: str) -> None:
    """Raise InputError if a file is a Git LFS pointer, from a clone that was made without git-lfs."""
    if 0 < file_size(path) <= _MAX_POINTER_BYTES and not is_directory(path):
        read_bytes(path)


@_report_remote_errors
def read_bytes(path: str) -> bytes:
    """Return a file's content; raise InputError for an unreadable file or a Git LFS pointer."""
    content = _read_bytes(path)
    _refuse_pointer(path, content[:_MAX_POINTER_BYTES])
    return content


def _read_bytes(path: str) -> bytes:
    if is_remote(path):
        with gfile(path).GFile(path, "rb") as file:
            return file.read()
    try:
        refuse_endless(path)
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory, a file is needed") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


@_report_remote_errors
def file_size(path: str) -> int:
    """Return a file's size in bytes, 0 if it does not exist."""
    if is_remote(path):
        return gfile(path).stat(path).length if exists(path) else 0
    return os.path.getsize(path) if os.path.exists(path) else 0


def open_binary(path: str) -> io.BufferedReader:
    """Open a file for reading bytes; raise OSError, or InputError for a Git LFS pointer."""
    if is_remote(path):
        return open_remote(path)
    file: io.BufferedReader = io.BufferedReader(io.FileIO(path), 1 << 16)
    # Peek only into seekable files: a pipe would wait for its first byte.
    if file.seekable() and file.peek(1)[: len(_POINTER_START)] == _POINTER_START:
        file.close()
        _refuse_pointer(path, _POINTER_START)
    return file


def make_process_folder() -> str:
    """Make a local temporary directory that is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="bert_cli-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@_report_remote_errors
def make_local(path: str) -> str:
    """Return a local file with the content of `path`, for libraries that cannot read remote files.

    A remote file is copied, and the copy is removed when the process ends. Raise InputError for a
    Git LFS pointer.
    """
    check_no_pointer(path)
    if not is_remote(path):
        return path
    local_path = os.path.join(make_process_folder(), os.path.basename(path))
    gfile(path).copy(path, local_path)
    return local_path
