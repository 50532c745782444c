"""Results of several files that appear together: written into a hidden directory, then put in place."""

import contextlib
import os
import secrets
import tempfile
from collections.abc import Iterator

from bert_cli.base.errors import InputError
from bert_cli.base.files import exists, make_directory
from bert_cli.base.names import UNFINISHED
from bert_cli.base.remote import gfile, is_remote, reported
from bert_cli.base.writing import copy_file


@contextlib.contextmanager
def staging_folder(folder: str, may_be_remote: bool = False) -> Iterator[str]:
    """A hidden directory on the disk of `folder`, which may be missing; it is gone when the block ends.

    For a remote folder it is a local one unless it `may_be_remote`, for processes of several machines that write into it.
    InputError where it cannot be made.
    """
    if is_remote(folder) and may_be_remote:
        hidden = f"{folder.rstrip('/')}/{UNFINISHED}{secrets.token_hex(4)}"
        with reported(hidden, "written"):
            gfile(hidden).makedirs(hidden)
        try:
            yield hidden
        finally:
            with reported(hidden, "removed"):
                gfile(hidden).rmtree(hidden)
        return
    # On the same disk, so that what is written there gets its name by renaming.
    parent = None if is_remote(folder) else os.path.abspath(folder)
    while parent and not os.path.isdir(parent):
        parent = os.path.dirname(parent)
    try:
        staged = tempfile.TemporaryDirectory(prefix=UNFINISHED, dir=parent)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written to: {error.strerror}") from None
    with staged as path:
        yield path


def publish_file(staged: str, target: str) -> None:
    """Give a file of a staging folder its own name, whole; the target's directory is made where it is missing."""
    make_directory(os.path.dirname(target))
    if is_remote(target):
        copy_file(staged, target)
        return
    try:
        with open(staged, "rb") as file:
            os.fsync(file.fileno())  # before the name: after a power cut a whole name must not have half a content
        os.replace(staged, target)
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {error.strerror}") from None


def publish_folder(staged: str, folder: str, last: str) -> None:
    """Put the directory `staged` in the place of `folder`: a local one in one step; of a remote one the file `last` last."""
    if is_remote(folder):
        if exists(folder):
            with reported(folder, "replaced"):
                gfile(folder).rmtree(folder)
        paths = [os.path.join(parent, name) for parent, _, names in os.walk(staged) for name in names]
        for path in sorted(paths, key=lambda path: os.path.basename(path) == last):
            publish_file(path, f"{folder.rstrip('/')}/{os.path.relpath(path, staged)}")
        return
    # A directory cannot be renamed over one that has files, so the old one steps aside, and comes back after an error.
    replaced = f"{staged}-replaced"
    if os.path.isdir(folder):
        os.rename(folder, replaced)
    try:
        os.rename(staged, folder)
    except OSError:
        if os.path.isdir(replaced):
            os.rename(replaced, folder)
        raise
