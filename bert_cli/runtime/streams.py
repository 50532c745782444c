"""Standard streams of a command that are closed, full, or cannot take a character."""

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
    """Open the null device under a standard descriptor that is closed; return whether it was.

    Otherwise the next file that is opened would get its number, and whatever is printed.
    """
    try:
        os.fstat(descriptor)
    except OSError:
        handle = os.open(os.devnull, flags)
        if handle != descriptor:
            os.dup2(handle, descriptor)
            os.close(handle)
        # Child processes need all three, too.
        os.set_inheritable(descriptor, True)
        return True
    return False


def repair_streams() -> None:
    """Give a command all three standard streams, and an output that can take each character.

    A closed standard error drops the log. A closed standard output refuses what is written.
    """
    # GNU programs use the same trick: a null device opened for reading refuses to be written to.
    streams = {"stdin": ("r", os.O_RDONLY), "stdout": ("w", os.O_RDONLY), "stderr": ("w", os.O_WRONLY)}
    for descriptor, (name, (mode, flags)) in enumerate(streams.items()):
        is_reserved = reserve_descriptor(descriptor, flags)
        if getattr(sys, name) is None:
            # Python found it closed, and something else has taken its number since.
            handle = descriptor if is_reserved else os.open(os.devnull, flags)
            stream = io.FileIO(handle, mode, closefd=False)
            text = io.BufferedReader(stream) if mode == "r" else io.BufferedWriter(stream)
            setattr(sys, name, io.TextIOWrapper(text, encoding="utf-8"))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors=ESCAPE)


def drop_unwritten(stream: TextIO) -> None:
    """Lead a stream to nowhere: Python flushes it once more at its end, and would exit with 120."""
    # A stream in memory, as in tests, has no descriptor. Nor has an object of another program.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        descriptor = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def settle_log() -> None:
    """Flush standard error, or drop what cannot be written."""
    if not LogStream().flush():
        drop_unwritten(sys.stderr)


class StandardOutput:
    """Standard output as a file of answers: what cannot be written is an InputError."""

    def write(self, text: str) -> int:
        """Write a text; return its length."""
        with _reported():
            return sys.stdout.write(text)

    def flush(self) -> None:
        """Hand over what was written: a reader of a pipe may wait for it."""
        with _reported():
            sys.stdout.flush()


@contextlib.contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # the reader, such as `head`, has gone, which is no mistake
        raise
    except OSError as error:
        drop_unwritten(sys.stdout)
        raise InputError(f"standard output: cannot be written: {error.strerror}") from None


def print_text(text: str) -> None:
    """Print a text and a line end."""
    output = StandardOutput()
    output.write(f"{text}\n")
    output.flush()
