"""First setup of a command's process, before its other modules are imported.

On Ctrl-C during the imports, it prints one line instead of a traceback.
"""

import atexit
import contextlib
import gc
import itertools
import os
import signal
import sys
import threading
from types import FrameType

_PACKAGE = "bert_cli"

# New objects between two garbage collections, as in tensorflow_setup. With Python's default of 700,
# they take a tenth of the imports' time.
_GC_THRESHOLD = 50_000


def command_name(program: str, words: list[str]) -> str | None:
    """Return the name of our command for messages, or None if another program imports the package.

    Args:
        program: sys.argv[0].
        words: sys.orig_argv, because sys.argv[0] is "-m" while `python -m` imports a package.
    """
    name = os.path.splitext(os.path.basename(program))[0]
    if name == "bert" or name.startswith("bert-"):
        return name
    modules = [module for option, module in itertools.pairwise(words) if option == "-m"]
    return _PACKAGE if modules and modules[0].partition(".")[0] == _PACKAGE else None


def started_command() -> str | None:
    """Return the name of the command that this process runs; None for another program."""
    return command_name(sys.argv[0] if hasattr(sys, "argv") and sys.argv else "", sys.orig_argv)


def collect_less_garbage() -> None:
    """Collect less garbage while a command starts, and none when it ends.

    Call this only in a command: a user's program has its own settings.
    """
    gc.set_threshold(_GC_THRESHOLD)
    # What is registered first is called last. Programs that
    # measure this one, such as coverage, have registered before.
    is_last = getattr(atexit, "_ncallbacks", lambda: 1)() == 0
    atexit.register(_end, is_last)


def _end(is_last: bool) -> None:
    """End the process without freeing its objects, or let the interpreter end it."""
    process = sys.modules.get(f"{_PACKAGE}.runtime.process")
    if is_last and process and process.PROCESS.ends_quickly and process.PROCESS.has_succeeded:
        # If a stream cannot be written, the interpreter ends the process with another exit code.
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
    # Otherwise the interpreter scans all objects several times before the process ends.
    gc.freeze()


def is_server(program: str, words: list[str]) -> bool:
    """Return whether our command is bert-serve, see `command_name` for the arguments."""
    if os.path.splitext(os.path.basename(program))[0] == "bert-serve":
        return True
    modules = [module for option, module in itertools.pairwise(words) if option == "-m"]
    return f"{_PACKAGE}.serve" in modules or (command_name(program, words) in ("bert", _PACKAGE) and "serve" in words)


def handle_early_server_signals() -> None:
    """Let SIGHUP wait until a server is ready, and end with exit code 0 on SIGTERM.

    In a program that is not our server, this does nothing.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if started_command() is None or not is_main or not is_server(sys.argv[0], sys.orig_argv):
        return

    def end(number: int, frame: FrameType | None) -> None:
        os._exit(0)

    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)


def answer_early_interrupts() -> None:
    """End on Ctrl-C with one line until the command installs its handler.

    In a program that is not one of our commands, this does nothing.
    """
    name = started_command()
    is_main = threading.current_thread() is threading.main_thread()
    # A background process in a script ignores the signal, and must continue to do so.
    if name is None or not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return

    def end(number: int, frame: FrameType | None) -> None:
        # None means that standard error is closed; its descriptor may belong to another file. A
        # terminal may also have been closed since.
        if sys.stderr is not None:
            with contextlib.suppress(OSError):
                os.write(2, f"{name}: interrupted; nothing was done\n".encode())
        os._exit(128 + number)

    signal.signal(signal.SIGINT, end)
