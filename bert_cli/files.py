"""Reading and atomic writing of files, local or remote (`gs://…` and the like go through tf.io.gfile).

Nothing here imports TensorFlow unless a remote path is used, so that a missing file is reported at once.
"""

import contextlib
import os
import shutil
import tempfile

from bert_cli.errors import InputError


def is_remote(path: str) -> bool:
    """True for a path that only tf.io.gfile can open, such as `gs://bucket/file`."""
    return "://" in path


def _gfile():
    import tensorflow as tf  # heavy; only remote paths need it

    return tf.io.gfile


def exists(path: str) -> bool:
    return _gfile().exists(path) if is_remote(path) else os.path.exists(path)


def is_directory(path: str) -> bool:
    return _gfile().isdir(path) if is_remote(path) else os.path.isdir(path)


def list_directory(path: str) -> list[str]:
    """Names in a directory, sorted; an empty list where there is no such directory."""
    if not is_directory(path):
        return []
    names = _gfile().listdir(path) if is_remote(path) else os.listdir(path)
    return sorted(name.rstrip("/") for name in names)


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


@contextlib.contextmanager
def atomic_write(path: str, mode: str = "w"):
    """Open a file that appears under `path`, whole, when the block ends; after an exception nothing is changed.

    Text is UTF-8 with `\\n` line ends. Remote stores make a file visible only when it is closed, so there it is plain.
    """
    text = "b" not in mode
    if is_remote(path):
        with _gfile().GFile(path, mode) as file:
            yield file
        return
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".writing-")
    try:
        with os.fdopen(handle, mode, encoding="utf-8" if text else None, newline="\n" if text else None) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp makes 0600; a result file is as readable as any other
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
        raise


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
