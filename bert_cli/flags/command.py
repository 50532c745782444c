"""Frame of every command: --help, --completion, the command line, the log and one-line errors."""

import contextlib
import dataclasses
import logging
import os
import signal
import sys
from collections.abc import Callable, Collection, Sequence
from typing import Any

from bert_cli import __version__
from bert_cli.base.errors import (
    InputError,
    TemporaryError,
    explain_failure,
    first_line,
    is_out_of_memory,
    mentioned_flags,
    notes_of,
    without_advice,
)
from bert_cli.base.log import JSON, LEVELS, LOG, RESULT, TEXT, StderrHandler, print_line, set_log_format, uses_json
from bert_cli.flags.completion import completion, requested_shell
from bert_cli.flags.help import full_help_text, help_text
from bert_cli.flags.option import Flag, build, every_flag
from bert_cli.flags.parser import parse
from bert_cli.flags.pasted import refuse_pasted, without_carriage_returns
from bert_cli.flags.refusals import check_needs, check_rules
from bert_cli.flags.sources import name_variable, prefix_of, variables_as_flags
from bert_cli.flags.translation import command_to_translate, translate
from bert_cli.runtime.installing import explain_left_out
from bert_cli.runtime.process import PROCESS
from bert_cli.runtime.signals import Stopped, raising_on_signals
from bert_cli.runtime.streams import (
    StandardOutput,
    drop_unwritten,
    print_text,
    repair_streams,
    settle_log,
    stderr_as_json,
)

TEMPORARY = 75  # EX_TEMPFAIL in sysexits.h; os.EX_TEMPFAIL is missing on some systems
_BATCHES = ("train_batch_size", "eval_batch_size", "predict_batch_size", "batch_size")
_REPEAT_ADVICE = "give the same command again"
_SWITCHES = {"help", "helpfull", "completion", "version", "flagfile", "from_command"}  # of every command
_MEMORY_FLAGS = (*_BATCHES, "max_seq_length", "num_workers")


@dataclasses.dataclass(frozen=True)
class Command:
    """The `main` function of a command's module: takes a command line and returns the exit code.

    Attributes:
        name: the command's name, such as "bert-classify".
        description: the module's docstring; None if `python -OO` has removed it.
        settings_class: dataclass of the command's flag groups.
        run: function that does the work, called with the settings.
        check: function from the settings, and the given flags' names, to the settings with
            remembered and derived values; None if the flags' own rules are enough. It raises
            InputError for flags that conflict with each other or with files.
        ends_quickly: whether the process may end without freeing its objects, as nothing happens then.
        interrupted: advice after Ctrl-C, SIGTERM or SIGHUP, or a function from the settings to it.
        ends_on_sigterm: whether SIGTERM is the usual end, with exit code 0, as for a server.
    """

    name: str
    description: str | None
    settings_class: type
    run: Callable[[Any], Any]
    check: Callable[[Any, frozenset[str]], Any] | None = None
    interrupted: str | Callable[[Any], str] = _REPEAT_ADVICE
    ends_quickly: bool = False
    ends_on_sigterm: bool = False

    def __call__(self, arguments: list[str] | None = None) -> int:
        """Do the work, print each error as one line, and return the exit code.

        Args:
            arguments: arguments without the command's name; None for the process's arguments.
        """
        # Set this first: modules that are imported later may configure the process for a single
        # command.
        PROCESS.is_command = True
        PROCESS.ends_quickly = self.ends_quickly and self._is_process()
        # Do this before opening any file, which would get the descriptor of a closed stream.
        repair_streams()
        exit_code = self._exit_code(sys.argv[1:] if arguments is None else arguments)
        settle_log()
        PROCESS.has_succeeded = exit_code == 0
        return exit_code

    def _is_process(self) -> bool:
        """Return whether this is the command's process, not a user's script."""
        main_module = sys.modules["__main__"]
        spec = getattr(main_module, "__spec__", None)  # of the module after -m
        program = spec.name.partition(".")[0] if spec else os.path.splitext(os.path.basename(sys.argv[0]))[0]
        return getattr(main_module, "main", None) is self and program in (self.name, "bert_cli")

    def _exit_code(self, arguments: list[str]) -> int:
        started_settings: list[Any] = []  # empty until the command line is parsed, then the settings
        paths: dict[str, str] = {}  # values of flags that name files
        try:
            with raising_on_signals():
                self._work(arguments, started_settings, paths)
            StandardOutput().flush()
        except (InputError, TemporaryError) as error:
            exit_code = TEMPORARY if isinstance(error, TemporaryError) else 1
            # Print one line, even if the message quotes a library that writes several.
            # Several commands share this code, and advice in it may name a flag of another one.
            message = without_advice(f"{error}{notes_of(error)}", lambda part: bool(self._absent_flags(part)))
            message = name_variable(message, arguments, self._flags(), prefix_of(self.settings_class))
            return self._print_end(f"error: {' '.join(message.split())}", exit_code)
        except Stopped as stopped:
            message = stopped.message or f"stopped by {stopped.name}; {self._advice(started_settings)}"
            is_usual = self.ends_on_sigterm and stopped.number == signal.SIGTERM
            return self._print_end(message, 0 if is_usual else stopped.exit_code)
        except KeyboardInterrupt:
            return self._print_end(f"interrupted; {self._advice(started_settings)}", 130)
        except BrokenPipeError:  # the program that reads the output, such as `head`, has exited
            drop_unwritten(sys.stdout)
            return 1
        except Exception as error:
            if is_out_of_memory(error):
                return self._print_end(
                    f"error: out of memory{self._memory_advice()} ({first_line(error)}){notes_of(error)}", 1
                )
            line = explain_left_out(error) or explain_failure(error, paths)
            if line is None and uses_json():
                print_line(logging.ERROR, f"{type(error).__name__}: {first_line(error)}", error, exit_code=1)
                return 1
            if line is None:
                raise
            return self._print_end(f"error: {line}{notes_of(error)}", 1)
        return 0

    def _print_end(self, message: str, exit_code: int) -> int:
        if uses_json():  # the line has the command's name in a field
            level = logging.ERROR if message.startswith("error: ") else logging.WARNING
            print_line(level, message, exit_code=exit_code)
        else:
            print_line(logging.ERROR, f"{self.name}: {message}")
        return exit_code

    def _advice(self, started_settings: list[Any]) -> str:
        """Return what to do after a signal.

        Args:
            started_settings: the settings in a list, which is empty if the run had not started.
        """
        if isinstance(self.interrupted, str):
            return self.interrupted
        return self.interrupted(started_settings[0]) if started_settings else _REPEAT_ADVICE

    def _memory_advice(self) -> str:
        """Return advice that names the flags that lower the command's memory use, or ""."""
        names = [f"--{flag.name}" for flag in every_flag(self.settings_class) if flag.name in _MEMORY_FLAGS]
        return f": lower {', '.join(names)}" if names else ""

    def _work(self, arguments: list[str], started_settings: list[Any], paths: dict[str, str]) -> None:
        arguments = without_carriage_returns(arguments)
        # Answer these before parsing, so that --help works together with a wrong flag.
        switches = {argument.lstrip("-") for argument in arguments if argument.startswith("-")}
        if "helpfull" in switches:
            print_text(full_help_text(self.settings_class, self.name, self._docstring()))
        elif switches & {"help", "helpshort", "h"}:
            print_text(help_text(self.settings_class, self.name, self._docstring()))
        elif "version" in switches:
            print_text(f"{self.name} {__version__}")
        elif shell := requested_shell(arguments):
            print_text(completion(self.settings_class, self.name, shell))
        elif (command_line := command_to_translate(arguments)) is not None:
            print_text(translate(self.settings_class, self.name, command_line))
        else:
            values, given_names = self._parse(arguments)
            file_flags = (flag.name for flag in every_flag(self.settings_class) if flag.is_file)
            paths.update({name: values[name] for name in file_flags if isinstance(values.get(name), str)})
            settings = self.checked(build(self.settings_class, values), given_names)
            started_settings.append(settings)
            with stderr_as_json(self.name) if uses_json() else contextlib.nullcontext():
                self.run(settings)

    def checked(self, settings: Any, given_names: frozenset[str]) -> Any:
        """Return the settings with remembered and derived values.

        Args:
            settings: flag values on the command line.

        Raises:
            InputError: if a rule of a flag is broken, or `check` refuses the flags.
        """
        trains = getattr(getattr(settings, "phases", None), "do_train", True)
        check_rules(settings, is_complete=trains)
        if self.check:
            settings = self.check(settings, given_names)
        check_needs(settings, given_names)
        return settings

    def _flags(self) -> dict[str, Flag]:
        return {flag.name: flag for flag in every_flag(self.settings_class)}

    def _absent_flags(self, text: str) -> set[str]:
        """Return the flags in a text that the command does not have."""
        return set(mentioned_flags(text)) - self._flags().keys() - _SWITCHES

    def _docstring(self) -> str:
        """Return the module's docstring, from the source code if `-OO` has removed it."""
        if self.description is not None:
            return self.description
        # Import late: these modules are slow and only needed here.
        import ast
        import inspect

        return ast.get_docstring(ast.parse(inspect.getsource(sys.modules[self.run.__module__])), clean=False) or ""

    def _parse(self, arguments: list[str]) -> tuple[dict[str, Any], frozenset[str]]:
        """Set up the log and return the result of parser.parse."""
        # Several commands may run in one process, for example in tests: one handler is enough.
        if not any(isinstance(handler, StderrHandler) for handler in LOG.handlers):
            LOG.addHandler(StderrHandler())
            LOG.propagate = False
        # Set level and format before parsing, which may write to the log and refuse a flag.
        early_arguments = [*arguments, *variables_as_flags(("log_level", "log_format"), prefix_of(self.settings_class))]
        level_name = _early_value(early_arguments, "log_level", LEVELS)
        default_level = RESULT if "--quiet" in arguments else logging.INFO
        LOG.setLevel(LEVELS[level_name] if level_name else default_level)
        set_log_format(_early_value(early_arguments, "log_format", (JSON,)) or TEXT, self.name)
        refuse_pasted(self.name, arguments, self._flags())
        values, given_names = parse(self.settings_class, arguments)
        log = build(self.settings_class, values).log
        set_log_format(log.log_format, self.name)
        LOG.setLevel(_log_level(log))
        return values, given_names


def _early_value(arguments: Sequence[str], name: str, accepted: Collection[str]) -> str | None:
    """Return a flag's value before the command line is parsed, or None without an accepted value.

    Args:
        arguments: the command line.
    """
    for index, argument in enumerate(arguments):
        flag, sign, value = argument.lstrip("-").partition("=")
        if argument.startswith("-") and flag == name:
            value = value if sign else "".join(arguments[index + 1 : index + 2])
            return value if value in accepted else None
    return None


def _log_level(log: Any) -> int:
    """Return the level for --quiet, --verbose or --log_level. At most one of them is given.

    Args:
        log: the command's group of flags for the log.
    """
    if log.log_level:
        return LEVELS[log.log_level]
    if log.quiet:
        return RESULT
    return logging.DEBUG if log.verbose else logging.INFO
