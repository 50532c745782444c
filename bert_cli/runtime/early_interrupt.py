"""Ctrl-C in the first half second of a command, while its modules are imported: one line in place
of a traceback.
"""

import contextlib
import itertools
import os
import signal
import sys
import threading
from types import FrameType

_PACKAGE = "bert_cli"


def command_name(program: str, words: list[str]) -> str | None:
    """What messages call this process; None for somebody else's program that imports the package.

    program: sys.argv[0]. words: sys.orig_argv, as sys.argv[0] is "-m" while `python -m` imports a
    package.
    """
    name = os.path.splitext(os.path.basename(program))[0]
    if name == "bert" or name.startswith("bert-"):
        return name
    modules = [module for option, module in itertools.pairwise(words) if option == "-m"]
    return _PACKAGE if modules and modules[0].partition(".")[0] == _PACKAGE else None


def answer_early_interrupts() -> None:
    """In a process of one of our commands, end on Ctrl-C with one line, until the command has its
    own handler.
    """
    name = command_name(sys.argv[0] if hasattr(sys, "argv") and sys.argv else "", sys.orig_argv)
    is_main = threading.current_thread() is threading.main_thread()
    # A process in the background of a script ignores the signal, and goes on doing so.
    if name is None or not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return

    def end(number: int, frame: FrameType | None) -> None:
        # None: standard error is closed, and its number may be another file's. A terminal may have
        # been closed since.
        if sys.stderr is not None:
            with contextlib.suppress(OSError):
                os.write(2, f"{name}: interrupted; nothing was done\n".encode())
        os._exit(128 + number)

    signal.signal(signal.SIGINT, end)
