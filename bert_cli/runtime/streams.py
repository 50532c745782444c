"""Repair of standard streams that are closed, full or not in UTF-8; JSON lines of libraries."""

import contextlib
import io
import os
import pathlib
import signal
import sys
import time
from collections.abc import Iterator
from typing import TextIO

from bert_cli.base.errors import InputError
from bert_cli.base.log import LogStream
from bert_cli.base.writing import ESCAPE

# Signals that may reach all processes of a terminal
# or container. The converter ends with its input.
_ENDING_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
_LAST_LINES_SECONDS = 2.0
_CONVERTER = (
    "import sys; sys.path.insert(0, {root!r}); from bert_cli.base.log import convert_lines; "
    "convert_lines(sys.stdin.buffer, sys.stderr.buffer, {command!r})"
)


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


@contextlib.contextmanager
def stderr_as_json(command: str) -> Iterator[None]:
    """Convert lines that other libraries write to standard error in the block to JSON lines.

    TensorFlow's C++ writes to descriptor 2. Another process reads these lines, so that the last
    ones before a crash of this process are not lost. The package's own lines do not take this way.
    If there can be no other process, lines stay as they are.

    Args:
        command: the command's name.
    """
    LogStream().flush()
    original = os.dup(2)
    converter = _start_converter(command)
    if converter is None:
        os.close(original)
        yield
        return
    # Otherwise sys.stderr belongs to a program that replaced it, such as a test.
    is_direct = _descriptor(sys.stderr) == 2
    if is_direct:
        encoding = LogStream().encoding
        LogStream.direct = open(original, "w", encoding=encoding, errors=ESCAPE, closefd=False)  # noqa: SIM115
    try:
        yield
    finally:
        LogStream().flush()
        if is_direct:
            LogStream.direct = None
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.flush()
        os.dup2(original, 2)
        os.close(original)
        _wait_for(converter, _LAST_LINES_SECONDS)


def _start_converter(command: str) -> int | None:
    """Start the process that converts lines, let descriptor 2 lead to it, and return its number.

    Return None if the system refuses another process.
    """
    root = str(pathlib.Path(__file__).resolve().parents[2])
    # -S: without site-packages, as it needs only the standard library.
    arguments = [sys.executable, "-I", "-S", "-c", _CONVERTER.format(root=root, command=command)]
    reader, writer = os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, reader, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    try:
        process = os.posix_spawn(
            sys.executable, arguments, os.environ, file_actions=actions, setsigmask=_ENDING_SIGNALS
        )
        os.dup2(writer, 2)
    except OSError:
        return None
    finally:
        os.close(reader)
        os.close(writer)
    return process


def _descriptor(stream: TextIO) -> int | None:
    """Return a stream's descriptor, or None for a stream in memory."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return stream.fileno()
    return None


def _wait_for(process: int, seconds: float) -> None:
    """Wait until a child process ends, for a time: its own children may keep the pipe open."""
    end = time.monotonic() + seconds
    with contextlib.suppress(ChildProcessError):
        while not os.waitpid(process, os.WNOHANG)[0] and time.monotonic() < end:
            time.sleep(0.002)


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
