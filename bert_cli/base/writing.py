"""Files that appear whole or not at all, local or remote."""

import codecs
import contextlib
import io
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO

from bert_cli.base.errors import DISK_FULL, InputError, explain_write_error
from bert_cli.base.files import exists, file_size, make_directory
from bert_cli.base.names import UNFINISHED
from bert_cli.base.remote import gfile, is_remote, report_errors

# Where a file appears whole when it is closed, and to rename it is to copy it.
_OBJECT_STORES = ("gs://", "s3://", "az://")
# What tempfile makes of the prefix that all our writers give it: a process that was killed leaves
# such names.
LEFTOVER = re.compile(re.escape(UNFINISHED) + "[a-z0-9_]{8}")


ESCAPE = "bert_cli.escape"  # of `codecs`: what to do with characters that an encoding lacks


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Return the characters as \\uXXXX, which in JSON is the same text."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4)), error.end


codecs.register_error(ESCAPE, _escape)


@contextlib.contextmanager
def atomic_write(path: str, mode: str = "w") -> Iterator[IO]:
    """Open a file that appears under `path`, whole, when the block ends; after an exception nothing
    is changed.

    Text is UTF-8 with `\\n` line ends; half of a surrogate pair, which JSON can bring, is escaped.
    What goes to a remote directory is held in memory until then. Raises InputError if the file
    cannot be written, for want of permission or space.
    """
    text = "b" not in mode
    if is_remote(path):
        held = io.StringIO() if text else io.BytesIO()
        yield held
        content = held.getvalue()
        with _appearing(path) as temporary, gfile(path).GFile(temporary, "wb") as file:
            file.write(content.encode("utf-8", ESCAPE) if isinstance(content, str) else content)
        return
    encoding, newline, errors = ("utf-8", "\n", ESCAPE) if text else (None, None, None)
    with (
        atomic_paths([path]) as temporaries,
        open(temporaries[0], mode, encoding=encoding, newline=newline, errors=errors) as file,
    ):
        yield file


@contextlib.contextmanager
def _appearing(path: str) -> Iterator[str]:
    """The name of a remote file to write, which takes its own name, `path`, when the block ends."""
    with report_errors(path, "written"):
        if path.startswith(_OBJECT_STORES):
            yield path
            return
        folder, name = os.path.split(path)
        hidden = os.path.join(folder, f"{UNFINISHED}{name}")
        if gfile(path).exists(hidden):
            gfile(path).remove(hidden)
        yield hidden
        gfile(path).rename(hidden, path, overwrite=True)


def follow_umask(path: str) -> None:
    """Give a local file the mode of a new file, 0644 for the usual umask.

    Files that appear through a temporary file are for their owner alone (0600), so another user,
    such as a container's, could not read them.
    """
    # The only way to read the umask is to set it.
    umask = os.umask(0)
    os.umask(umask)
    os.chmod(path, 0o666 & ~umask)


@contextlib.contextmanager
def atomic_paths(paths: Sequence[str], extra_folder: str | None = None) -> Iterator[list[str]]:
    """Yield the names of empty local files, which appear together as `paths` when the block ends.

    For files that belong together, and for other processes that write them. After an exception none
    appears. Raises InputError if a file cannot be written, for want of permission or space.

    Args:
        paths: local or remote files.
        extra_folder: a directory with other files that the block writes, which need space, too.
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
            # On the disk before its name is: after a power cut the new name would otherwise refer
            # to an empty file.
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            follow_umask(temporary)
        # All are whole before the first takes its name: files that belong together appear together.
        for path, temporary in zip(paths, temporaries, strict=True):
            if is_remote(path):
                with _appearing(path) as hidden:
                    gfile(path).copy(temporary, hidden, overwrite=True)
            else:
                os.replace(temporary, path)
    except BrokenPipeError:  # nobody reads the log any more; this is not about files
        raise
    except OSError as error:
        written = (
            sum(map(file_size, temporaries)) + (_size_of(extra_folder) if extra_folder else 0) if temporaries else None
        )
        reason = explain_write_error(error, os.path.dirname(paths[0]) or ".", written, is_all=False)
        raise InputError(f"{paths[0]}: cannot be written: {reason}") from None
    finally:
        for temporary in temporaries:
            with contextlib.suppress(FileNotFoundError):
                os.remove(temporary)


def _size_of(folder: str) -> int:
    """Return the bytes of all files in a local directory."""
    return sum(file_size(os.path.join(place, name)) for place, _, names in os.walk(folder) for name in names)


def make_names_durable(folder: str) -> None:
    """Let the names of the files in a local directory, as they are now, survive a power cut."""
    # Network file systems and Windows do not offer it.
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def link_file(staged: str, target: str) -> None:
    """Give a file of a local staging folder a second name, atomically; a copy where there are no
    hard links.
    """
    if not is_remote(target):
        linked = f"{staged}.linked"
        with contextlib.suppress(OSError):
            os.link(staged, linked)
            os.replace(linked, target)
            return
    copy_file(staged, target)


def move_file(source: str, target: str) -> None:
    """Give a whole file, local or remote, another name on the same file system; an existing file is
    replaced.
    """
    if is_remote(target):
        with report_errors(target, "written"):
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
    there = target if is_remote(target) else source
    with report_errors(there, "copied"), atomic_paths([target]) as temporaries:
        gfile(there).copy(source, temporaries[0], overwrite=True)


def write_json(path: str, values: dict) -> None:
    """Write a JSON object for people to read, atomically."""
    with atomic_write(path) as file:
        file.write(json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def write_lines(path: str, lines: Sequence[str]) -> None:
    """Write lines of text, atomically."""
    with atomic_write(path) as file:
        file.write("".join(f"{line}\n" for line in lines))


@contextlib.contextmanager
def staging_folder(folder: str, may_be_remote: bool = False) -> Iterator[str]:
    """A hidden directory on the disk of `folder`, which may be missing; it is gone when the block
    ends.

    For a remote folder it is a local one unless it `may_be_remote`, for processes of several
    machines that write into it. InputError where it cannot be made.
    """
    if is_remote(folder) and may_be_remote:
        hidden = f"{folder.rstrip('/')}/{UNFINISHED}{secrets.token_hex(4)}"
        with report_errors(hidden, "written"):
            gfile(hidden).makedirs(hidden)
        try:
            yield hidden
        finally:
            with report_errors(hidden, "removed"):
                gfile(hidden).rmtree(hidden)
        return
    # On the same disk, so that a written file gets its name by renaming.
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
    """Give a file of a staging folder its own name, whole; the target's directory is made where it
    is missing.
    """
    make_directory(os.path.dirname(target))
    if is_remote(target):
        copy_file(staged, target)
        return
    try:
        with open(staged, "rb") as file:
            os.fsync(file.fileno())  # before the name: after a power cut a whole name must not have half a content
        os.replace(staged, target)
    except OSError as error:
        reason = explain_write_error(error, os.path.dirname(target) or ".")
        raise InputError(f"{target}: cannot be written: {reason}") from None


def publish_folder(staged: str, folder: str, last: str) -> None:
    """Put the directory `staged` in the place of `folder`: a local one in one step; of a remote one
    the file `last` last.
    """
    if is_remote(folder):
        if exists(folder):
            with report_errors(folder, "replaced"):
                gfile(folder).rmtree(folder)
        paths = [os.path.join(parent, name) for parent, _, names in os.walk(staged) for name in names]
        for path in sorted(paths, key=lambda path: os.path.basename(path) == last):
            publish_file(path, f"{folder.rstrip('/')}/{os.path.relpath(path, staged)}")
        return
    # A directory cannot be renamed over one that has files, so the old one steps aside, and comes
    # back after an error.
    replaced = f"{staged}-replaced"
    if os.path.isdir(folder):
        os.rename(folder, replaced)
    try:
        os.rename(staged, folder)
    except OSError:
        if os.path.isdir(replaced):
            os.rename(replaced, folder)
        raise
