"""Exceptions that a command prints as one line, and one-line explanations of other exceptions.

The exit code is 1, or 75 if the same command may succeed later. In Python, a message names
arguments instead of flags.
"""

import errno
import functools
import inspect
import numbers
import os
import re
import shutil
import stat
import traceback
from collections.abc import Callable, Collection, Mapping
from typing import ParamSpec, TypeVar

from bert_cli.base.formats import byte_size

_PACKAGE = "bert_cli"
_P = ParamSpec("_P")
_R = TypeVar("_R")
# A flag, or a command line to run, which stays as
# it is. Other programs have hyphens in their flags.
_FLAG = re.compile(r"bert-[a-z-]+(?: --\S+)+|--([a-z][a-z0-9_]*)\b(?!-)(=(true|false)\b)?")
# Not in parentheses, which may have texts like these.
_CLAUSES, _ALTERNATIVES = re.compile(r"; (?![^(]*\))"), re.compile(r", or (?![^(]*\))")
_IN_MEMORY = re.compile(r"\b(train|dev|data|texts|dev_texts):(\d+)\b")
# Errors about line 1 of a file concern the header, which a table in memory does not have.
_HEADER = re.compile(r"\b(train|dev|data|texts):1: (no column|[a-z_]+=.*: there is no such column)")
# TensorFlow adds the graph node and the operation to its messages.
_MAX_CHARS = 160  # shown of a library's message
_GRAPH_NODES = re.compile(r"\{\{(?:function_)?node [^}]*\}\}\s*|\s*\[Op:\w+\](?: name:.*)?")


class InputError(Exception):
    """A mistake in a flag, a file or a row that the user gave.

    The message is one line: what is wrong, where (file:line or flag), and what to do. Commands
    print it after `error:` and exit with 1. Nothing else in the package catches it.
    """


class InputTypeError(InputError, TypeError):
    """An InputError for a value of the wrong type in a call from Python."""


def refuse_if(is_wrong: object, message: str) -> None:
    """Raise InputError with this message if `is_wrong` is true."""
    if is_wrong:
        raise InputError(message)


def refuse_endless(path: str) -> None:
    """Raise InputError for a device or a named pipe, such as in a third-party model's directory.

    Reading /dev/zero never ends, and a named pipe waits for a writer. Pipes of the shell have one.
    """
    mode = os.stat(path).st_mode
    is_device = (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and path not in (os.devnull, "/dev/stdin")
    is_named_pipe = stat.S_ISFIFO(mode) and not path.startswith(("/dev/fd/", "/dev/stdin", "/proc/"))
    kind = "a device" if is_device else "a named pipe"
    refuse_if(is_device or is_named_pipe, f"{path}: is {kind}, a file is needed")


def check_text(text: object, name: str = "text") -> None:
    """Raise InputTypeError unless the value is a single text."""
    if not isinstance(text, str):
        raise InputTypeError(f"{name}: one text is needed, found {text!r:.80}")


def check_count(count: object, name: str) -> None:
    """Raise InputError unless the value is a whole number of 1 or more."""
    if isinstance(count, bool) or not isinstance(count, numbers.Integral):
        raise InputTypeError(f"{name}={count!r:.40}: a whole number of 1 or more is needed")
    refuse_if(count < 1, f"{name}={count}: 1 or more is needed")


class DivergedError(InputError):
    """Training reached a loss or gradient that is not finite; other runs of a sweep continue."""


class TemporaryError(Exception):
    """A failure in another process or machine, so the same command may succeed next time.

    Commands print the message as for an InputError and exit with 75, which is the code for
    temporary failures in sysexits.h.
    """


class BusyError(InputError, TemporaryError):
    """Another run is using the output_dir, so the same command may succeed after that run.

    It is an InputError for programs that catch these. A command exits with 75.
    """


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message.

    A library's message is cut after a word if it has more than 160 characters. An exception without
    a message gives its type's name.
    """
    line = next(iter(_GRAPH_NODES.sub("", str(error)).strip().splitlines()), type(error).__name__)
    if isinstance(error, InputError) or len(line) <= _MAX_CHARS:
        return line
    words, space, _ = line[:_MAX_CHARS].rpartition(" ")
    return f"{words if space else line[:_MAX_CHARS]} …"


def notes_of(error: BaseException) -> str:
    """Return the notes of an exception for the end of its one-line message."""
    return "".join(f"; {note}" for note in getattr(error, "__notes__", ()))


DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


def explain_write_error(error: Exception, folder: str, size: int | None = None, is_all: bool = True) -> str:
    """Return why a file could not be written, on a full disk with the bytes needed and free.

    Args:
        error: exception from the system or from TensorFlow.
        folder: the file's directory, which may be missing.
        size: the file's size in bytes, None if unknown.
        is_all: False if the size counts only the bytes that were written before the disk was full.
    """
    error_number = error.errno if isinstance(error, OSError) else None
    reason = (error.strerror if isinstance(error, OSError) else None) or first_line(error)
    is_full = error_number in DISK_FULL or os.strerror(errno.ENOSPC).lower() in reason.lower()
    if not is_full:
        return reason
    # A directory that does not exist yet has no free space to report; its parent has.
    while not os.path.isdir(folder):
        folder = os.path.dirname(os.path.abspath(folder))
    free = shutil.disk_usage(folder).free
    inodes = os.statvfs(folder)
    # A file system without a limit, such as btrfs, reports 0 of 0.
    has_inodes = inodes.f_favail > 0 or inodes.f_files == 0
    needed = f"{'' if is_all else 'more than '}{_amount(size)} are needed" if size else ""
    if error_number == errno.EDQUOT:
        return f"{os.strerror(errno.EDQUOT)}: {needed}" if needed else os.strerror(errno.EDQUOT)
    if not has_inodes:
        return f"{os.strerror(errno.ENOSPC)}: {folder} takes no more files (df -i shows how many it has)"
    return f"{os.strerror(errno.ENOSPC)}: {f'{needed}, ' if needed else ''}{_amount(free)} are free in {folder}"


def _amount(size: int) -> str:
    """Return a size, in bytes if two digits of MB would show too little of it."""
    return byte_size(size, MB=2, GB=2) if size >= 10_000 else f"{size:,} bytes"


def is_out_of_memory(error: Exception) -> bool:
    """Return whether Python, NumPy or TensorFlow could not allocate memory."""
    # Compare the name, because TensorFlow may not be imported.
    return isinstance(error, MemoryError) or type(error).__name__ == "ResourceExhaustedError"


def explain_failure(error: Exception, paths: Mapping[str, str]) -> str | None:
    """Return one line about a failure that is not a bug in the program; None for other errors.

    Args:
        error: an unexpected exception.
        paths: values of flags that name files or directories, by flag.
    """
    if failure := failed_import(error):
        return f"{explain_import(*failure)}; bert-doctor looks at all packages"
    if isinstance(error, OSError):
        return _explain_system(error, paths)
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return "no more threads can be started; look at the limits of memory and processes (ulimit -v, ulimit -u)"
    return None


def explain_import(package: str, reason: str) -> str:
    """Return the message for a package that cannot be imported; see `failed_import`."""
    return f"the package {package} cannot be imported: {reason}"


def failed_import(error: Exception) -> tuple[str, str] | None:
    """Return the package that cannot be imported and the reason; None if no import failed."""
    # A package may fail with any exception, for example protobuf with a TypeError. Look for a
    # module's code in the traceback.
    modules = (
        str(frame.f_globals.get("__name__")).partition(".")[0]
        for frame, _ in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_name == "<module>"
    )
    package = next((name for name in modules if name != _PACKAGE), None)
    if package is None:
        name = error.name if isinstance(error, ImportError) else None
        package = name.partition(".")[0] if name else _PACKAGE
    if package == _PACKAGE:
        return None
    if isinstance(error, ModuleNotFoundError) and error.name == package:
        return package, "it is not installed"
    cause: BaseException = error
    # TensorFlow raises an ImportError that contains the first error's traceback as text.
    while str(cause).lstrip().startswith("Traceback") and cause.__context__:
        cause = cause.__context__
    prefix = "" if isinstance(cause, ImportError) else f"{type(cause).__name__}: "
    return package, f"{prefix}{first_line(cause)}"


def _explain_system(error: OSError, paths: Mapping[str, str]) -> str:
    reason = error.strerror or first_line(error)
    reason = reason[:1].lower() + reason[1:]
    if not isinstance(error.filename, str | bytes):
        return reason
    path = os.fsdecode(error.filename)
    # Of several flags, take the one with the longest path.
    directories = {flag: _literal_directory(value) for flag, value in paths.items() if value}
    flags = [
        flag
        for flag, directory in directories.items()
        if _literal_directory(path).startswith(directory) or directory.startswith(_literal_directory(path))
    ]
    flag = max(flags, key=lambda flag: len(directories[flag]), default=None)
    return f"{path}: {reason}" + (f"; check --{flag}" if flag else "")


def _literal_directory(value: str) -> str:
    """Return a flag value as an absolute path; a glob pattern ends above its first wildcard."""
    literal = re.split(r"[*?[]", value)[0]
    return os.path.join(os.path.abspath(value if literal == value else os.path.dirname(literal)), "")


def name_arguments_in_errors(
    absent: Collection[str] | None = (), **names: str
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Decorate a function so that its InputErrors name arguments instead of flags.

    Args:
        absent: flags such as --labels, and other texts, that a call of the function cannot have; advice
            with them is left out. None for all flags that are not its arguments.
        names: argument names that differ from the flag's name, such as train_file="train".
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        arguments = {*inspect.signature(function).parameters, *names}

        def is_absent(advice: str) -> bool:
            if absent is None:
                return not arguments.issuperset(mentioned_flags(advice))
            return any(text in advice for text in absent)

        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            try:
                return function(*args, **kwargs)
            # Convert here and not at the raise statement: commands use the same code.
            except InputError as error:
                renamed = type(error)(replace_flag_names(without_advice(str(error), is_absent), names))
                for note in getattr(error, "__notes__", ()):
                    renamed.add_note(note)
                raise renamed from None

        return call

    return decorate


def mentioned_flags(text: str) -> list[str]:
    """Return the names of the flags in a text, without those in the line of another command."""
    return [match[1] for match in _FLAG.finditer(text) if match[1]]


def without_advice(message: str, is_absent: Callable[[str], bool]) -> str:
    """Return an error message without the advice that a caller cannot use.

    The problem comes first, and then advice after "; ", with alternatives after ", or ".

    Args:
        message: the error message.
        is_absent: whether a piece of advice names something that the caller cannot use.
    """
    problem, *advice = _CLAUSES.split(message)
    clauses = [[part for part in _ALTERNATIVES.split(clause) if not is_absent(part)] for clause in advice]
    return "; ".join([problem, *(", or ".join(parts) for parts in clauses if parts)])


def replace_flag_names(message: str, names: Mapping[str, str] = {}) -> str:
    """Return an error message with arguments for flags, and list indices for lines.

    Args:
        message: the error message.
        names: argument names, or other flags, that differ from the flag's name.
    """
    message = message.replace("unknown flag --", "unknown argument ").replace(
        "unknown flags --", "unknown arguments --"
    )

    def argument(match: re.Match) -> str:
        if not match[1]:
            return match[0]
        name = names.get(match[1], match[1])
        return name + (match[2] or "" if name.startswith("--") else f"={match[3].capitalize()}" if match[3] else "")

    return _IN_MEMORY.sub(r"\1[\2]", _HEADER.sub(r"\1: \2", _FLAG.sub(argument, message)))
