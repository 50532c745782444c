"""The exceptions that a command turns into a single line, with exit code 1, or 75 where the same
command may do again.
"""

import errno
import functools
import os
import re
import shutil

from bert_cli.base.formats import byte_size


class InputError(Exception):
    """A mistake in what the user gave: a flag, a file, a row.

    The message is one line that says what was wrong, where (file:line or flag) and what to do.
    Commands print it after `error:` and exit with 1; nothing else in the package catches it.
    """


class InputTypeError(InputError, TypeError):
    """An InputError about a value of the wrong type in a call from Python."""


def refuse_if(is_wrong: object, message: str) -> None:
    """Raise InputError with this message if something is wrong."""
    if is_wrong:
        raise InputError(message)


class DivergedError(InputError):
    """Training came to a loss or a gradient that is no number; of several runs the others go on."""


class TemporaryError(Exception):
    """What has gone is not in what the user gave, but in another process or machine: the same
    command may do next time.

    Commands print the message as for an InputError and exit with 75, which sysexits.h calls a
    temporary failure.
    """


class BusyError(InputError, TemporaryError):
    """An output_dir in which another run is at work: the same command may do after that run.

    An InputError for programs that catch these; a command exits with 75.
    """


# What TensorFlow puts around a message: where in its graph, and which operation, an error was
# raised.
_GRAPH_PLACES = re.compile(r"\{\{(?:function_)?node [^}]*\}\}\s*|\s*\[Op:\w+\](?: name:.*)?")


def first_line(error: BaseException) -> str:
    """What an exception says, short enough for one line of ours; its type's name where it says
    nothing.
    """
    lines = _GRAPH_PLACES.sub("", str(error)).strip().splitlines()
    return lines[0][:160] if lines else type(error).__name__


DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def explain_write_error(error: Exception, folder: str, size: int | None = None, is_all: bool = True) -> str:
    """Return why a file could not be written, on a full disk with the bytes needed and free.

    Args:
        error: of the system or of TensorFlow.
        folder: directory of the file, which may be missing.
        size: bytes of the file; None if nothing is known about them.
        is_all: False if the size counts only the bytes that were written before the disk was full.
    """
    number = error.errno if isinstance(error, OSError) else None
    reason = (error.strerror if isinstance(error, OSError) else None) or first_line(error)
    is_full = number in DISK_FULL or os.strerror(errno.ENOSPC).lower() in reason.lower()
    if not is_full:
        return reason
    # A directory that is still to be made has no free space; the one above it has.
    while not os.path.isdir(folder):
        folder = os.path.dirname(os.path.abspath(folder))
    amount = functools.partial(byte_size, MB=2, GB=2)
    free = shutil.disk_usage(folder).free
    names = os.statvfs(folder)
    # A file system without a limit, such as btrfs, reports 0 of 0.
    has_names = names.f_favail > 0 or names.f_files == 0
    needed = f"{'' if is_all else 'more than '}{amount(size)} are needed" if size is not None else ""
    if number == errno.EDQUOT:
        return f"{os.strerror(errno.EDQUOT)}: {needed}" if needed else os.strerror(errno.EDQUOT)
    if not has_names:
        return f"{os.strerror(errno.ENOSPC)}: {folder} takes no more files (df -i shows how many it has)"
    return f"{os.strerror(errno.ENOSPC)}: {f'{needed}, ' if needed else ''}{amount(free)} are free in {folder}"
