"""What every command does around its work: --help, completion, the command line, the log, and
errors in one line.
"""

import dataclasses
import logging
import sys
from collections.abc import Callable
from typing import Any

from bert_cli.base.errors import InputError, TemporaryError, first_line, refuse_if
from bert_cli.base.log import LOG, RESULT, LogStream, StderrHandler
from bert_cli.base.version import __version__
from bert_cli.flags.completion import completion, requested_shell
from bert_cli.flags.help import full_help_text, help_text
from bert_cli.flags.option import build, every_flag
from bert_cli.flags.parser import parse
from bert_cli.flags.pasted import refuse_pasted, without_carriage_returns
from bert_cli.runtime.failures import explain_failure, is_out_of_memory
from bert_cli.runtime.process import PROCESS
from bert_cli.runtime.signals import Stopped, raised
from bert_cli.runtime.streams import StandardOutput, drop_unwritten, print_text, repair_streams, settle_log

TEMPORARY = 75  # EX_TEMPFAIL of sysexits.h; os.EX_TEMPFAIL is not on every system
_BATCHES = ("train_batch_size", "eval_batch_size", "predict_batch_size", "batch_size")
_AGAIN = "give the same command again"
_MEMORY_FLAGS = (*_BATCHES, "max_seq_length", "num_workers")


@dataclasses.dataclass(frozen=True)
class Command:
    """The `main` of a command's module: called with a command line, it returns the exit code.

    Attributes:
        description: the docstring of the module; None if `python -OO` has left it out.
        run: takes the settings.
        check: called with the values of all flags by name and the names of those that were given,
            before they are put together. Returns the values with remembered and derived ones.
            Raises InputError for flags that do not go together.
        interrupted: the advice after Ctrl-C, SIGTERM and SIGHUP; a function is given the settings.
    """

    name: str
    description: str | None
    settings_class: type
    run: Callable[[Any], Any]
    check: Callable[[dict[str, Any], frozenset[str]], dict[str, Any]]
    interrupted: str | Callable[[Any], str] = _AGAIN

    def __call__(self, arguments: list[str] | None = None) -> int:
        """Do the work, print each error as one line, and return the exit code.

        Args:
            arguments: without the command's name; None for the process's arguments.
        """
        # Before anything else: modules imported from here on may set the process up for one command
        # alone.
        PROCESS.is_command = True
        # Before any file is opened, which would take the number of a closed stream.
        repair_streams()
        exit_code = self._exit_code(sys.argv[1:] if arguments is None else arguments)
        settle_log()
        return exit_code

    def _exit_code(self, arguments: list[str]) -> int:
        begun: list[Any] = []  # the settings, once the command line is understood
        paths: dict[str, str] = {}  # of the flags that name files
        try:
            with raised():
                self._work(arguments, begun, paths)
            StandardOutput().flush()
        except (InputError, TemporaryError) as error:
            exit_code = TEMPORARY if isinstance(error, TemporaryError) else 1
            # One line, also if the message quotes a library that writes several.
            return self._ended(f"error: {' '.join(str(error).split())}", exit_code)
        except KeyboardInterrupt:
            return self._ended(f"interrupted; {self._advice(begun)}", 130)
        except Stopped as stopped:
            said = stopped.said or f"stopped by {stopped.name}; {self._advice(begun)}"
            return self._ended(said, stopped.exit_code)
        except BrokenPipeError:  # the reader of our output, such as `head`, has gone
            drop_unwritten(sys.stdout)
            return 1
        except Exception as error:
            if is_out_of_memory(error):
                return self._ended(f"error: out of memory{self._memory_advice()} ({first_line(error)})", 1)
            line = explain_failure(error, paths)
            if line is None:
                raise
            return self._ended(f"error: {line}", 1)
        return 0

    def _ended(self, said: str, exit_code: int) -> int:
        LogStream().print(f"{self.name}: {said}")
        return exit_code

    def _advice(self, begun: list[Any]) -> str:
        """What to do after a signal. begun: the settings of the run, empty where it had not begun."""
        if isinstance(self.interrupted, str):
            return self.interrupted
        return self.interrupted(begun[0]) if begun else _AGAIN

    def _memory_advice(self) -> str:
        """The flags of the command that make it need less memory."""
        names = [f"--{flag.name}" for flag in every_flag(self.settings_class) if flag.name in _MEMORY_FLAGS]
        return f": lower {', '.join(names)}" if names else ""

    def _work(self, arguments: list[str], begun: list[Any], paths: dict[str, str]) -> None:
        arguments = without_carriage_returns(arguments)
        # Before the flags are parsed, so that --help works together with a wrong flag.
        asked = {argument.lstrip("-") for argument in arguments if argument.startswith("-")}
        if "helpfull" in asked:
            print_text(full_help_text(self.settings_class, self.name, self._docstring()))
        elif asked & {"help", "helpshort", "h"}:
            print_text(help_text(self.settings_class, self.name, self._docstring()))
        elif "version" in asked:
            print_text(f"{self.name} {__version__}")
        elif shell := requested_shell(arguments):
            print_text(completion(self.settings_class, self.name, shell))
        else:
            values, given = self._parsed(arguments)
            files = (flag.name for flag in every_flag(self.settings_class) if flag.is_file)
            paths.update({name: values[name] for name in files if isinstance(values.get(name), str)})
            begun.append(build(self.settings_class, self.check(values, given)))
            self.run(begun[0])

    def _docstring(self) -> str:
        """Return the docstring of the command's module, from its source if `-OO` has left it out."""
        if self.description is not None:
            return self.description
        # Import late: these modules take a while, and nobody else needs them.
        import ast
        import inspect

        return ast.get_docstring(ast.parse(inspect.getsource(sys.modules[self.run.__module__])), clean=False) or ""

    def _parsed(self, arguments: list[str]) -> tuple[dict[str, Any], frozenset[str]]:
        """See parser.parse; the log is set up, too."""
        # Commands may share a process, as in tests: one handler is enough.
        if not any(isinstance(handler, StderrHandler) for handler in LOG.handlers):
            LOG.addHandler(StderrHandler())
            LOG.propagate = False
        # Before the flags are parsed, as a file of flags may need a line of the log.
        LOG.setLevel(RESULT if "--quiet" in arguments else logging.INFO)
        refuse_pasted(self.name, arguments, {flag.name: flag for flag in every_flag(self.settings_class)})
        values, given = parse(self.settings_class, arguments)
        is_quiet, is_verbose = values["quiet"], values["verbose"]
        refuse_if(is_quiet and is_verbose, "--quiet and --verbose cannot be combined; give one of them")
        LOG.setLevel(RESULT if is_quiet else logging.DEBUG if is_verbose else logging.INFO)
        return values, given
