"""Finding, reading and removing files, local or remote (`gs://…` and the like go through
tf.io.gfile).

Nothing here imports TensorFlow unless a remote path is used, so that a missing file is reported at
once. What goes wrong with a remote path is an InputError.
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

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.names import STANDARD
from bert_cli.base.remote import gfile, is_remote, open_remote, report_errors

_Found = TypeVar("_Found")
# The first line of a pointer, and the length of the longest one in bytes (git-lfs' spec.md).
_POINTER_START, _POINTER_BYTES = b"version https://git-lfs.github.com/spec/", 1024


def _reporting(function: Callable[[str], _Found]) -> Callable[[str], _Found]:
    """The same function of a path, in which what goes wrong with a remote path is an InputError."""

    @functools.wraps(function)
    def reporting(path: str) -> _Found:
        with report_errors(path):
            return function(path)

    return reporting


@_reporting
def exists(path: str) -> bool:
    """Return whether there is a file or directory; PermissionError if that cannot be known."""
    return gfile(path).exists(path) if is_remote(path) else _status(path) is not None


@_reporting
def is_directory(path: str) -> bool:
    """Return whether a path is a directory; PermissionError if that cannot be known."""
    if is_remote(path):
        return gfile(path).isdir(path)
    status = _status(path)
    return status is not None and stat.S_ISDIR(status.st_mode)


def _status(path: str) -> os.stat_result | None:
    """Return the status of a local file; None if there is none.

    Raises PermissionError, about the directory that cannot be searched, where os.path.exists would
    say that the file is missing.
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


@_reporting
def list_directory(path: str) -> list[str]:
    """Return the names in a directory, sorted; an empty list if there is no such directory."""
    if not is_directory(path):
        return []
    names = gfile(path).listdir(path) if is_remote(path) else os.listdir(path)
    return sorted(name.rstrip("/") for name in names)


@_reporting
def match(pattern: str) -> list[str]:
    """Return the paths that a glob pattern matches, sorted; the name of a file matches itself.

    Raises PermissionError if the pattern leads into a directory that cannot be read, which `glob`
    skips.
    """
    if is_remote(pattern):
        return sorted(gfile(pattern).glob(pattern))
    above, name = os.path.split(pattern)
    while name:
        needed = os.R_OK | os.X_OK if glob.has_magic(name) else os.X_OK
        for folder in glob.glob(above) if above else ["."]:
            if os.path.isdir(folder) and not os.access(folder, needed):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)
        above, name = os.path.split(above)
    return sorted(glob.glob(pattern))


def is_pattern(path: str) -> bool:
    """Return whether a flag names several files: by a glob pattern, or by names with commas between."""
    return any(sign in path for sign in "*?[,") and not exists(path)


@_reporting
def mtime_ns(path: str) -> int:
    """When a file that is there was last changed, in ns."""
    return gfile(path).stat(path).mtime_nsec if is_remote(path) else os.stat(path).st_mtime_ns


@_reporting
def make_directory(path: str) -> None:
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
    """Raise InputError, naming `flag`, unless files can be made in `folder`, which may be missing.
    Changes nothing.
    """
    if is_remote(folder):
        return
    path = os.path.abspath(folder)
    # The nearest folder that is there decides; lexists, as a link to nowhere is there, too.
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    refuse_if(not os.path.isdir(path), f"{path}: is a file, a folder is needed; check --{flag}")
    refuse_if(
        not os.access(path, os.W_OK | os.X_OK),
        f"{path}: no permission to write there; check --{flag}",
    )


def check_output_files(paths: Sequence[str | None], read: Sequence[str | None]) -> None:
    """InputError unless files can be made under `paths`, and none of them is one of the files that
    are `read`.

    None, "" and "-" name no file. A link, also a hard one, is the file that it leads to.
    """
    inputs = [path for path in read if path and path != STANDARD]
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
        is_read = any(_is_same_file(path, each) for each in inputs)
        refuse_if(is_read, f"{path}: would be written over, but it is read; {advice}")
        check_can_write(folder, "output_file")


def _is_same_file(path: str, other: str) -> bool:
    if not (is_remote(path) or is_remote(other)) and os.path.exists(path) and os.path.exists(other):
        return os.path.samefile(path, other)
    return resolve(path) == resolve(other)


def resolve(path: str) -> str:
    """The file that a local path leads to; a remote one as it is."""
    return path if is_remote(path) else os.path.realpath(path)


def make_absolute(path: str) -> str:
    """A path that holds from any working directory; a remote one as it is."""
    return path if is_remote(path) else os.path.abspath(path)


@_reporting
def remove(path: str) -> None:
    """Remove one file; no complaint where it is already gone."""
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
    refuse_if(not exists(path), f"{path}: no such file; check --{flag}")
    refuse_if(is_directory(path), f"{path}: is a directory, a file is needed; check --{flag}")
    is_secret = not is_remote(path) and not os.access(path, os.R_OK)
    refuse_if(is_secret, f"{path}: permission denied; check --{flag}")


def is_stream(path: str) -> bool:
    """Return whether a path is standard input or a pipe, which can be read only once."""
    is_file = os.path.isfile(path) or os.path.isdir(path)
    return path == STANDARD or (os.path.exists(path) and not is_file)


def is_empty(path: str) -> bool:
    """Return whether a file has no byte. A pipe is not empty, though its size is 0."""
    is_file = exists(path) and not (is_directory(path) or is_stream(path))
    return is_file and file_size(path) == 0


def check_not_empty(path: str, flag: str) -> None:
    """Raise InputError, naming `flag`, unless `path` is a file that can be opened and has a byte."""
    check_readable(path, flag)
    refuse_if(is_empty(path), f"{path}: is empty; check --{flag}")


def _refuse_pointer(path: str, start: bytes) -> None:
    """Raise InputError if a file begins as a pointer of Git LFS does."""
    refuse_if(
        start.startswith(_POINTER_START),
        f"{path}: is a pointer of Git LFS, not the file itself; run `git lfs install` and `git lfs pull` in its folder",
    )


def check_no_pointer(path: str) -> None:
    """Raise InputError if a file is a pointer of Git LFS, as a clone without git-lfs has it."""
    if 0 < file_size(path) <= _POINTER_BYTES and not is_directory(path):
        read_bytes(path)


@_reporting
def read_bytes(path: str) -> bytes:
    """Return the content of a file. Raises InputError if it cannot be read, or is a pointer of Git LFS."""
    content = _read_bytes(path)
    _refuse_pointer(path, content[:_POINTER_BYTES])
    return content


def _read_bytes(path: str) -> bytes:
    if is_remote(path):
        with gfile(path).GFile(path, "rb") as file:
            return file.read()
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory, a file is needed") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None


@_reporting
def file_size(path: str) -> int:
    """Bytes of a file; 0 where there is none."""
    if is_remote(path):
        return gfile(path).stat(path).length if exists(path) else 0
    return os.path.getsize(path) if os.path.exists(path) else 0


def open_binary(path: str) -> io.BufferedReader:
    """Open a file for reading bytes piece by piece; a context.

    Raises OSError, as open does, and InputError for a pointer of Git LFS.
    """
    if is_remote(path):
        return open_remote(path)
    file = open(path, "rb")  # noqa: SIM115 (the caller closes it)
    # A pipe would wait for its first byte.
    if file.seekable() and file.peek(1)[: len(_POINTER_START)] == _POINTER_START:
        file.close()
        _refuse_pointer(path, _POINTER_START)
    return file


def make_process_folder() -> str:
    """A new local folder, which is gone with the process."""
    folder = tempfile.mkdtemp(prefix="bert_cli-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@_reporting
def make_local(path: str) -> str:
    """Return a local file with the content of `path`, for libraries that read no others.

    The copy of a remote file is removed with the process. Raises InputError for a pointer of Git LFS.
    """
    check_no_pointer(path)
    if not is_remote(path):
        return path
    copy = os.path.join(make_process_folder(), os.path.basename(path))
    gfile(path).copy(path, copy)
    return copy
