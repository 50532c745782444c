"""One-line explanations for failures of the machine or its packages."""

import os
import re
import traceback
from collections.abc import Mapping

from bert_cli.base.errors import first_line

_PACKAGE = "bert_cli"


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
    """Return the message for a package that cannot be imported; see `failures.failed_import`."""
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
