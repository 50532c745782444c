"""Atomic writing of local and remote files: a file appears complete or not at all."""

import codecs
import contextlib
import io
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO

from bert_cli.base.errors import DISK_FULL, InputError, explain_write_error
from bert_cli.base.files import exists, file_size, make_directory
from bert_cli.base.names import UNFINISHED
from bert_cli.base.remote import gfile, is_remote, reporting_remote_errors

# Object stores: a file appears complete when it is closed, and renaming it copies it.
_OBJECT_STORES = ("gs://", "s3://", "az://")
# Temporary names made by tempfile, which remain if a process is killed.
LEFTOVER = re.compile(re.escape(UNFINISHED) + "[a-z0-9_]{8}")


ESCAPE = "bert_cli.escape"  # codecs error handler for characters that an encoding lacks


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Return the characters as \\uXXXX, which is the same text in JSON."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4)), error.end


codecs.register_error(ESCAPE, _escape)


@contextlib.contextmanager
def atomic_write(path: str, mode: str = "w") -> Iterator[IO]:
    """Open a file that appears at `path` when the block ends; after an exception nothing changes.

    Text is UTF-8 with `\\n` line ends. Lone surrogates, which JSON can contain, are escaped. A
    remote file's content is held in memory until the block ends. Raise InputError if the file
    cannot be written because of missing permission or space.
    """
    is_text = "b" not in mode
    if is_remote(path):
        buffer = io.StringIO() if is_text else io.BytesIO()
        yield buffer
        content = buffer.getvalue()
        with _rename_when_complete(path) as temporary, gfile(path).GFile(temporary, "wb") as file:
            file.write(content.encode("utf-8", ESCAPE) if isinstance(content, str) else content)
        return
    encoding, newline, errors = ("utf-8", "\n", ESCAPE) if is_text else (None, None, None)
    with (
        atomic_paths([path]) as temporaries,
        open(temporaries[0], mode, encoding=encoding, newline=newline, errors=errors) as file,
    ):
        yield file


@contextlib.contextmanager
def _rename_when_complete(path: str) -> Iterator[str]:
    """Yield the name to write a remote file under; it is renamed to `path` when the block ends."""
    with reporting_remote_errors(path, "written"):
        if path.startswith(_OBJECT_STORES):
            yield path
            return
        folder, name = os.path.split(path)
        hidden = os.path.join(folder, f"{UNFINISHED}{name}")
        if gfile(path).exists(hidden):
            gfile(path).remove(hidden)
        yield hidden
        gfile(path).rename(hidden, path, overwrite=True)


@contextlib.contextmanager
def open_new(path: str) -> Iterator[IO[bytes]]:
    """Open a new binary file, which is complete when the block ends."""
    opener, naming = (gfile(path).GFile, _rename_when_complete) if is_remote(path) else (open, contextlib.nullcontext)
    with naming(path) as temporary, opener(temporary, "wb") as file:
        yield file


def follow_umask(path: str) -> None:
    """Give a local file a new file's mode, which is 0644 for the usual umask.

    Temporary files have mode 0600, which would keep other users, such as a container's, from
    reading the renamed file.
    """
    # The only way to read the umask is to set it.
    umask = os.umask(0)
    os.umask(umask)
    os.chmod(path, 0o666 & ~umask)


@contextlib.contextmanager
def atomic_paths(paths: Sequence[str], extra_folder: str | None = None) -> Iterator[list[str]]:
    """Yield the names of empty local files, which appear together as `paths` when the block ends.

    Use it for files that belong together, and for files that another process writes. After an
    exception none appears. Raise InputError if a file cannot be written because of missing
    permission or space.

    Args:
        paths: local or remote files.
        extra_folder: directory with other files that the block writes and that also need space.
    """
    temporaries: list[str] = []
    try:
        for path in paths:
            folder = tempfile.gettempdir() if is_remote(path) else os.path.dirname(path) or "."
            handle, temporary = tempfile.mkstemp(dir=folder, prefix=UNFINISHED)
            os.close(handle)
            temporaries.append(temporary)
        yield list(temporaries)
        for temporary in temporaries:
            # Flush the content before the rename: after a power cut the new name would otherwise
            # refer to an empty file.
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            follow_umask(temporary)
        # Rename only after all files are complete: files that belong together appear together.
        for path, temporary in zip(paths, temporaries, strict=True):
            if is_remote(path):
                with _rename_when_complete(path) as hidden:
                    gfile(path).copy(temporary, hidden, overwrite=True)
            else:
                os.replace(temporary, path)
    except BrokenPipeError:  # the log's reader is gone, which is no problem with files
        raise
    except OSError as error:
        written = sum(map(file_size, temporaries)) if temporaries else None
        if written is not None and extra_folder:
            written += _size_of(extra_folder)
        reason = explain_write_error(error, os.path.dirname(paths[0]) or ".", written, is_all=False)
        raise InputError(f"{paths[0]}: cannot be written: {reason}") from None
    finally:
        for temporary in temporaries:
            with contextlib.suppress(FileNotFoundError):
                os.remove(temporary)


def _size_of(folder: str) -> int:
    """Return the total size in bytes of all files in a local directory."""
    return sum(file_size(os.path.join(place, name)) for place, _, names in os.walk(folder) for name in names)


def make_names_durable(folder: str) -> None:
    """Flush a local directory's file names to disk, so that they survive a power cut."""
    # Network file systems and Windows do not support it.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def link_file(staged: str, target: str) -> None:
    """Give a file in a local staging directory a second name, atomically.

    The file is copied if hard links are not possible.
    """
    if not is_remote(target):
        link = f"{staged}.linked"
        with contextlib.suppress(OSError):
            os.link(staged, link)
            os.replace(link, target)
            return
    copy_file(staged, target)


def move_file(source: str, target: str) -> None:
    """Rename a complete file within its file system, local or remote, replacing an existing file."""
    if is_remote(target):
        with reporting_remote_errors(target, "written"):
            gfile(target).rename(source, target, overwrite=True)
        return
    try:
        os.replace(source, target)
    except OSError as error:
        raise InputError(
            f"{target}: cannot be written: {explain_write_error(error, os.path.dirname(target) or '.')}"
        ) from None


def copy_file(source: str, target: str) -> None:
    """Copy one file atomically; copying a file onto itself does nothing."""
    if not is_remote(source) and not is_remote(target):
        if os.path.realpath(source) == os.path.realpath(target):
            return
        with open(source, "rb") as reader, atomic_write(target, "wb") as writer:
            shutil.copyfileobj(reader, writer)
        return
    remote_path = target if is_remote(target) else source
    with reporting_remote_errors(remote_path, "copied"), atomic_paths([target]) as temporaries:
        gfile(remote_path).copy(source, temporaries[0], overwrite=True)


@contextlib.contextmanager
def reporting_errors(path: str, errors: tuple[type[Exception], ...] = (OSError,)) -> Iterator[None]:
    """Convert errors from writing a file or directory to InputError within the block."""
    try:
        yield
    except errors as error:
        raise InputError(f"{path}: cannot be written: {explain_write_error(error, path)}") from None


def write_json(path: str, values: dict) -> None:
    """Write a JSON object atomically, indented for people."""
    with atomic_write(path) as file:
        file.write(json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def write_lines(path: str, lines: Sequence[str]) -> None:
    """Write lines of text, atomically."""
    with atomic_write(path) as file:
        file.write("".join(f"{line}\n" for line in lines))


@contextlib.contextmanager
def staging_folder(folder: str, may_be_remote: bool = False) -> Iterator[str]:
    """Yield a hidden directory on the disk of `folder`, and remove it when the block ends.

    Raise InputError if it cannot be created.

    Args:
        folder: local or remote directory, which may be missing.
        may_be_remote: whether to make it remote if `folder` is, for processes on several machines.
            If not, it is local.
    """
    if is_remote(folder) and may_be_remote:
        hidden = f"{folder.rstrip('/')}/{UNFINISHED}{os.urandom(4).hex()}"
        with reporting_remote_errors(hidden, "written"):
            gfile(hidden).makedirs(hidden)
        try:
            yield hidden
        finally:
            with reporting_remote_errors(hidden, "removed"):
                gfile(hidden).rmtree(hidden)
        return
    # Stay on the same disk: a complete file gets its name by renaming.
    parent = None if is_remote(folder) else os.path.abspath(folder)
    while parent and not os.path.isdir(parent):
        parent = os.path.dirname(parent)
    try:
        staged = tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=parent)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to: {explain_write_error(error, folder)}") from None
    with staged as path:
        try:
            yield path
        except OSError as error:
            if error.errno not in DISK_FULL:
                raise
            reason = explain_write_error(error, os.path.dirname(path), _size_of(path), is_all=False)
            raise InputError(f"{folder}: cannot be written: {reason}") from None


def publish_file(staged: str, target: str) -> None:
    """Rename a complete file from a staging directory to `target`; make its directory if needed."""
    make_directory(os.path.dirname(target))
    if is_remote(target):
        copy_file(staged, target)
        return
    try:
        with open(staged, "rb") as file:
            # before the rename: after a power cut the name must not have half the content
            os.fsync(file.fileno())
        os.replace(staged, target)
    except OSError as error:
        reason = explain_write_error(error, os.path.dirname(target) or ".")
        raise InputError(f"{target}: cannot be written: {reason}") from None


def publish_folder(staged: str, folder: str, last: str) -> None:
    """Replace `folder` with the directory `staged`.

    A local directory is replaced in one step. A remote one is copied file by file.

    Args:
        staged: local directory.
        folder: local or remote directory, which may exist.
        last: file name that is copied last to a remote directory.
    """
    if is_remote(folder):
        if exists(folder):
            with reporting_remote_errors(folder, "replaced"):
                gfile(folder).rmtree(folder)
        paths = [os.path.join(parent, name) for parent, _, names in os.walk(staged) for name in names]
        for path in sorted(paths, key=lambda path: os.path.basename(path) == last):
            publish_file(path, f"{folder.rstrip('/')}/{os.path.relpath(path, staged)}")
        return
    # A directory cannot replace one that has files by renaming: move the old one away first, and
    # restore it after an error.
    replaced = f"{staged}-replaced"
    if os.path.isdir(folder):
        os.rename(folder, replaced)
    try:
        os.rename(staged, folder)
    except OSError:
        if os.path.isdir(replaced):
            os.rename(replaced, folder)
        raise
