"""What every command does around its work: --help, completion, the command line, the log, and errors in one line."""

import logging
import os
import sys
from collections.abc import Callable
from typing import Any

from bert_cli.base.errors import InputError, TemporaryError, first_line
from bert_cli.base.log import RESULT
from bert_cli.base.version import __version__
from bert_cli.flags.completion import asked_shell, completion
from bert_cli.flags.help import help_text
from bert_cli.flags.option import build, every_flag
from bert_cli.flags.parser import parse
from bert_cli.runtime.process import PROCESS
from bert_cli.runtime.signals import Stopped, raised

TEMPORARY = 75  # EX_TEMPFAIL of sysexits.h; os.EX_TEMPFAIL is not on every system
_MEMORY_FLAGS = (
    "train_batch_size",
    "eval_batch_size",
    "predict_batch_size",
    "batch_size",
    "max_seq_length",
    "num_workers",
)


class _StderrHandler(logging.Handler):
    """Writes to whatever sys.stderr is now, so that lines pass above a progress bar."""

    def emit(self, record: logging.LogRecord) -> None:
        print(self.format(record), file=sys.stderr, flush=True)


def run_command(
    command: str,
    description: str,
    settings_class: type,
    run: Callable[[Any], Any],
    arguments: list[str] | None = None,
    check: Callable[[dict[str, Any], frozenset[str]], dict[str, Any]] | None = None,
    interrupted: str = "the same command goes on from the last checkpoint",
) -> int:
    """Parse the command line, call `run(settings)`, and turn an InputError into one line; returns the exit code.

    check(values, given) sees the values of all flags by name, and which were given, before they are put together; it
    returns them, with what is remembered or derived, and raises InputError for what does not go together.
    interrupted: what to say after Ctrl-C, and after SIGTERM and SIGHUP.
    """
    PROCESS.is_command = True
    try:
        arguments = sys.argv[1:] if arguments is None else arguments
        with raised():
            return _run_command(command, description, settings_class, run, arguments, check)
    except InputError as error:
        print(f"{command}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except TemporaryError as error:
        print(f"{command}: error: {error}", file=sys.stderr)
        return TEMPORARY
    except MemoryError as error:
        print(f"{command}: error: out of memory{_memory_advice(settings_class)} ({first_line(error)})", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{command}: interrupted; {interrupted}", file=sys.stderr)
        return 130
    except Stopped as stopped:
        print(f"{command}: {stopped.said or f'stopped by {stopped.name}; {interrupted}'}", file=sys.stderr)
        return stopped.exit_code
    except BrokenPipeError:  # the reader of our output, such as `head`, has gone
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for descriptor in (1, 2):
            os.dup2(nowhere, descriptor)
        return 1


def _memory_advice(settings_class: type) -> str:
    """The flags of a command that make it need less memory."""
    names = [f"--{flag.name}" for flag in every_flag(settings_class) if flag.name in _MEMORY_FLAGS]
    return f": lower {', '.join(names)}" if names else ""


def _run_command(
    command: str,
    description: str,
    settings_class: type,
    run: Callable[[Any], Any],
    arguments: list[str],
    check: Callable[[dict[str, Any], frozenset[str]], dict[str, Any]] | None,
) -> int:
    asked = {argument.lstrip("-") for argument in arguments if argument.startswith("-")}
    if asked & {"help", "helpfull", "helpshort", "h"}:
        print(help_text(settings_class, command, description), flush=True)
        return 0
    if "version" in asked:
        print(f"{command} {__version__}", flush=True)
        return 0
    if shell := asked_shell(arguments):
        print(completion(settings_class, command, shell), flush=True)
        return 0
    log = logging.getLogger("bert_cli")
    if not any(isinstance(handler, _StderrHandler) for handler in log.handlers):
        log.addHandler(_StderrHandler())
        log.propagate = False
    values, given = parse(settings_class, arguments)
    if values["quiet"] and values["verbose"]:
        raise InputError("--quiet and --verbose do not go together; give one of them")
    log.setLevel(RESULT if values["quiet"] else logging.DEBUG if values["verbose"] else logging.INFO)
    run(build(settings_class, check(values, given) if check else values))
    return 0
