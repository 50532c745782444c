"""Repair of standard streams that are closed, full, or cannot encode a character."""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from bert_cli.base.errors import InputError
from bert_cli.base.log import LogStream
from bert_cli.base.writing import ESCAPE


def reserve_descriptor(descriptor: int, flags: int) -> bool:
    """Open the null device as a standard descriptor if it is closed, and return whether it was.

    Otherwise the next opened file would get its number, and everything that is printed.

    Args:
        descriptor: 0, 1 or 2.
        flags: flags for os.open.
    """
    try:
        os.fstat(descriptor)
    except OSError:
        handle = os.open(os.devnull, flags)
        if handle != descriptor:
            os.dup2(handle, descriptor)
            os.close(handle)
        # Child processes also need all three descriptors.
        os.set_inheritable(descriptor, True)
        return True
    return False


def repair_streams() -> None:
    """Open all closed standard streams, and let standard output escape unencodable characters.

    With a closed standard error, the log is dropped. With a closed standard output, writing fails.
    """
    # As in GNU programs, a null device opened for reading makes writing fail.
    streams = {"stdin": ("r", os.O_RDONLY), "stdout": ("w", os.O_RDONLY), "stderr": ("w", os.O_WRONLY)}
    for descriptor, (name, (mode, flags)) in enumerate(streams.items()):
        is_reserved = reserve_descriptor(descriptor, flags)
        if getattr(sys, name) is None:
            # Python found it closed, and another file has taken its number since.
            handle = descriptor if is_reserved else os.open(os.devnull, flags)
            stream = io.FileIO(handle, mode, closefd=False)
            text = io.BufferedReader(stream) if mode == "r" else io.BufferedWriter(stream)
            setattr(sys, name, io.TextIOWrapper(text, encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=ESCAPE)


def drop_unwritten(stream: TextIO) -> None:
    """Redirect a stream to the null device.

    Python flushes streams at exit, and would fail with exit code 120.
    """
    # Streams in memory, as in tests, and objects of other programs have no descriptor.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        descriptor = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def settle_log() -> None:
    """Flush standard error, or drop the rest if it cannot be written."""
    if not LogStream().flush():
        drop_unwritten(sys.stderr)


class StandardOutput:
    """Standard output as a file of answers, which raises InputError if writing fails."""

    def write(self, text: str) -> int:
        """Write a text and return its length."""
        with _reporting_errors():
            return sys.stdout.write(text)

    def flush(self) -> None:
        """Flush written text, because a program may be waiting for it at a pipe."""
        with _reporting_errors():
            sys.stdout.flush()


@contextlib.contextmanager
def _reporting_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # the program that reads, such as `head`, has exited; not an error
        raise
    except OSError as error:
        drop_unwritten(sys.stdout)
        raise InputError(f"standard output: cannot be written: {error.strerror}") from None


def print_text(text: str) -> None:
    """Print a text and a line end."""
    output = StandardOutput()
    output.write(f"{text}\n")
    output.flush()
