"""Reading and atomic writing of files, local or remote (`gs://…` and the like go through tf.io.gfile).

Nothing here imports TensorFlow unless a remote path is used, so that a missing file is reported at once.
"""

import contextlib
import functools
import glob
import io
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence

from bert_cli.base.errors import InputError


def is_remote(path: str) -> bool:
    """True for a path that only tf.io.gfile can open, such as `gs://bucket/file`."""
    return "://" in path


def _gfile():
    import tensorflow as tf  # heavy; only remote paths need it

    return tf.io.gfile


def _reporting(function):
    """The same function of a path, in which what goes wrong with a remote path is an InputError."""

    @functools.wraps(function)
    def reporting(path: str):
        if not is_remote(path):
            return function(path)
        import tensorflow as tf

        try:
            return function(path)
        except tf.errors.OpError as error:
            raise InputError(f"{path}: cannot be reached: {error.message.splitlines()[0]}") from None

    return reporting


@_reporting
def exists(path: str) -> bool:
    return _gfile().exists(path) if is_remote(path) else os.path.exists(path)


@_reporting
def is_directory(path: str) -> bool:
    return _gfile().isdir(path) if is_remote(path) else os.path.isdir(path)


@_reporting
def list_directory(path: str) -> list[str]:
    """Names in a directory, sorted; an empty list where there is no such directory."""
    if not is_directory(path):
        return []
    names = _gfile().listdir(path) if is_remote(path) else os.listdir(path)
    return sorted(name.rstrip("/") for name in names)


@_reporting
def match(pattern: str) -> list[str]:
    """Paths that a glob pattern matches, sorted; the name of a file matches itself."""
    return sorted(_gfile().glob(pattern) if is_remote(pattern) else glob.glob(pattern))


@_reporting
def make_directory(path: str) -> None:
    if is_remote(path):
        _gfile().makedirs(path)
        return
    try:
        os.makedirs(path, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"{path}: a file stands where a directory is needed; give another path") from None
    except OSError as error:
        raise InputError(f"{path}: cannot make this directory: {error.strerror}") from None


def check_can_write(folder: str, flag: str) -> None:
    """Raise InputError, naming `flag`, unless files can be made in `folder`, which may be missing. Changes nothing."""
    if is_remote(folder):
        return
    path = os.path.abspath(folder)
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    if not os.path.isdir(path):
        raise InputError(f"{path}: is a file, a folder is needed; check --{flag}")
    if not os.access(path, os.W_OK | os.X_OK):
        raise InputError(f"{path}: no permission to write there; check --{flag}")


def check_output_files(paths: list[str], read: list[str]) -> None:
    """InputError unless files can be made under `paths`, and none of them is one of the files that are `read`."""
    taken = {os.path.realpath(path) for path in read if path != "-" and not is_remote(path)}
    for path in (path for path in paths if not is_remote(path)):
        folder = os.path.dirname(path) or "."
        if not os.path.isdir(folder):
            raise InputError(f"{folder}: no such folder; make it, or check --output_file")
        if os.path.isdir(path) or path.endswith(os.sep):
            raise InputError(f"{path}: is a directory, a file is needed; check --output_file")
        if os.path.exists(path) and not os.path.isfile(path):
            raise InputError(f"{path}: is a device, a file is needed; check --output_file")
        if os.path.realpath(path) in taken:
            raise InputError(f"{path}: would be written over, but it is read; check --output_file")
        check_can_write(folder, "output_file")


def absolute(path: str | None) -> str | None:
    """A path that holds from any working directory; a remote one, or none, as it is."""
    return path if path is None or is_remote(path) else os.path.abspath(path)


@_reporting
def remove(path: str) -> None:
    """Remove one file; no complaint where it is already gone."""
    if is_remote(path):
        if exists(path):
            _gfile().remove(path)
        return
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


def check_readable(path: str, flag: str) -> None:
    """Raise InputError, naming `flag`, unless `path` is a file that can be opened."""
    if not exists(path):
        raise InputError(f"{path}: no such file; check --{flag}")
    if is_directory(path):
        raise InputError(f"{path}: is a directory, a file is needed; check --{flag}")
    if not is_remote(path) and not os.access(path, os.R_OK):
        raise InputError(f"{path}: permission denied; check --{flag}")


@_reporting
def read_bytes(path: str) -> bytes:
    if is_remote(path):
        with _gfile().GFile(path, "rb") as file:
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


def open_binary(path: str):
    """The file, opened for reading bytes piece by piece; a context. Raises OSError, as open does."""
    return _gfile().GFile(path, "rb") if is_remote(path) else open(path, "rb")


def read_text(path: str) -> str:
    """The whole file as text: strict UTF-8, a byte-order mark dropped, newlines left as they are.

    Raises InputError with the line number of the first byte that is not UTF-8, or that is NUL (a sign of UTF-16).
    """
    data = read_bytes(path)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path}:1: is UTF-16, UTF-8 is needed; save it as UTF-8")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path}:{line}: is not UTF-8 (byte 0x{data[error.start]:02x}); save the file as UTF-8"
        ) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{path}:{line}: holds a NUL character; remove it, or save the file as UTF-8 if it is UTF-16")
    return text.removeprefix("\ufeff")


def read_json_object(path: str, advice: str = "") -> dict:
    """The JSON object that a file holds; InputError for anything else, which ends in `advice` where it is other JSON."""
    try:
        values = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path}:{error.lineno}: is not JSON: {error.msg}") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: holds no JSON object{advice}")
    return values


STANDARD = "-"  # in a flag, standard input or output


def input_name(path: str) -> str:
    """What messages call the place that lines come from."""
    return "standard input" if path == STANDARD else path


@contextlib.contextmanager
def open_lines(path: str) -> Iterator[Iterator[str]]:
    """The lines of a file, or of standard input for "-", as they come. InputError for what is not UTF-8."""

    def decoded(lines):
        for number, line in enumerate(lines, start=1):
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                raise InputError(f"{input_name(path)}:{number}: is not UTF-8; save the file as UTF-8") from None

    if path == STANDARD:
        yield decoded(sys.stdin.buffer)
        return
    with open_binary(path) as file:
        yield decoded(file)


@contextlib.contextmanager
def atomic_write(path: str, mode: str = "w"):
    """Open a file that appears under `path`, whole, when the block ends; after an exception nothing is changed.

    Text is UTF-8 with `\\n` line ends. What goes to a remote place is held in memory until then.
    Raises InputError where the file cannot be written, for want of permission or space.
    """
    text = "b" not in mode
    if is_remote(path):
        held = io.StringIO() if text else io.BytesIO()
        yield held
        with _gfile().GFile(path, mode) as file:
            file.write(held.getvalue())
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".writing-")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, mode, encoding="utf-8" if text else None, newline="\n" if text else None) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _make_readable(temporary)
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
        if isinstance(error, OSError) and not isinstance(
            error, BrokenPipeError
        ):  # a pipe is the log's, not this file's
            raise InputError(f"{path}: cannot be written: {error.strerror}") from None
        raise


def _make_readable(path: str) -> None:
    """mkstemp makes files for their owner alone; a result is as readable as any other file."""
    umask = os.umask(0)
    os.umask(umask)
    os.chmod(path, 0o666 & ~umask)


@contextlib.contextmanager
def atomic_paths(paths: Sequence[str]):
    """Local files to write to, in place of `paths`; these appear, whole, when the block ends, and after an exception none.

    For files that belong together, and for other processes that write them: yields a list of names of empty files.
    Raises InputError where a file cannot be written, for want of permission or space.
    """
    temporaries: list[str] = []
    try:
        for path in paths:
            folder = tempfile.gettempdir() if is_remote(path) else os.path.dirname(path) or "."
            handle, temporary = tempfile.mkstemp(dir=folder, prefix=".writing-")
            os.close(handle)
            temporaries.append(temporary)
        yield list(temporaries)
        for temporary in temporaries:
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            _make_readable(temporary)
        for path, temporary in zip(paths, temporaries, strict=True):
            if is_remote(path):
                _gfile().copy(temporary, path, overwrite=True)
            else:
                os.replace(temporary, path)
    except BrokenPipeError:  # nobody reads the log any more; this is not about files
        raise
    except OSError as error:
        raise InputError(f"{paths[0]}: cannot be written: {error.strerror or error}") from None
    finally:
        for temporary in temporaries:
            with contextlib.suppress(FileNotFoundError):
                os.remove(temporary)


def copy_file(source: str, target: str) -> None:
    """Copy one file atomically; copying a file onto itself does nothing."""
    if not is_remote(source) and not is_remote(target):
        if os.path.realpath(source) == os.path.realpath(target):
            return
        with open(source, "rb") as reader, atomic_write(target, "wb") as writer:
            shutil.copyfileobj(reader, writer)
        return
    with atomic_write(target, "wb") as writer:
        writer.write(read_bytes(source))


def write_json(path: str, values: dict) -> None:
    """Write a JSON object for people to read, atomically."""
    with atomic_write(path) as file:
        file.write(json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def write_lines(path: str, lines: Sequence[str]) -> None:
    """Write lines of text, atomically."""
    with atomic_write(path) as file:
        file.write("".join(f"{line}\n" for line in lines))
