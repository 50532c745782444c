"""Command lines: absl flags in titled sections, help, flagfiles, and errors in one line; nothing heavy is imported."""

import difflib
import logging
import math
import os
import re
import sys
import textwrap
from collections.abc import Callable

from absl import flags as absl_flags

from bert_cli import __version__
from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.lines import read_text
from bert_cli.base.writing import atomic_write

# Spellings from tutorials and forks that the original ignored, and what to say about them.
_KNOWN_MISTAKES = {
    "do_lower": "the flag is --do_lower_case",
    "use_gpu": "a GPU is used when there is one; --distribution_strategy chooses",
    "fp16": "the flag is --precision=float16",
    "use_fp16": "the flag is --precision=float16",
    "batch_size": "the flags are --train_batch_size, --eval_batch_size and --predict_batch_size",
    "seed": "the flag is --random_seed",
    "max_seq_len": "the flag is --max_seq_length",
    "num_epochs": "the flag is --num_train_epochs",
}
_HELP_WIDTH = 110
# What absl and Python say about a value, and the same for people.
_PLAINER = (
    (r"invalid literal for int\(\).*", "a whole number is needed"),
    (r"could not convert string to float.*", "a number is needed"),
    (r"\('Non-boolean argument.*", "true or false is needed"),
    (r"ERROR:: Unable to open flagfile: \[Errno \d+\] (.*): '(.*)'", r"--flagfile=\2: \1"),
    (r"^flag --", "--"),
)
# Flags of Google's commands that scripts pass on empty where they are not used.
_MAY_BE_EMPTY = {"tpu_name", "tpu_zone", "gcp_project", "master"}


class CommandFlags:
    """The flags of one command, in sections for --help. A fresh absl FlagValues, so commands can share a process."""

    def __init__(self):
        self.values = absl_flags.FlagValues()
        self._sections: list[tuple[str, list[str]]] = []
        self._words: tuple[str, str] | None = None

    def words(self, name: str, text: str) -> None:
        """Take words that are no flags, wherever they stand, as a tuple under `name`; elsewhere they are an error."""
        self._words = (name, text)
        self.values.set_gnu_getopt(True)

    def section(self, title: str) -> None:
        self._sections.append((title, []))

    def string(self, name: str, default: str | None, text: str) -> None:
        absl_flags.DEFINE_string(name, default, text, flag_values=self.values)
        self._sections[-1][1].append(name)

    def boolean(self, name: str, default: bool, text: str) -> None:
        absl_flags.DEFINE_bool(name, default, text, flag_values=self.values)
        self._sections[-1][1].append(name)

    def integer(self, name: str, default: int, text: str, lower: int | None = None) -> None:
        absl_flags.DEFINE_integer(name, default, text, lower_bound=lower, flag_values=self.values)
        self._sections[-1][1].append(name)

    def float(
        self, name: str, default: float, text: str, lower: float | None = None, upper: float | None = None
    ) -> None:
        absl_flags.DEFINE_float(name, default, text, lower_bound=lower, upper_bound=upper, flag_values=self.values)
        self._sections[-1][1].append(name)

    def enum(self, name: str, default: str, choices: tuple[str, ...], text: str) -> None:
        absl_flags.DEFINE_enum(name, default, list(choices), text, flag_values=self.values)
        self._sections[-1][1].append(name)

    def names(self) -> list[str]:
        return [name for _, names in self._sections for name in names]

    def parse(self, arguments: list[str]) -> tuple[dict, frozenset[str]]:
        """Values by name, and the names that the command line (or a flagfile) gave. Raises InputError."""
        for argument in arguments:
            if argument.startswith(" ") and argument.strip().startswith("--"):
                raise InputError(
                    f"the argument {argument!r} begins with a blank: a line ends in '\\ ' instead of '\\'?"
                )
        try:
            rest = self.values(["command", *arguments])[1:]
        except absl_flags.UnrecognizedFlagError as error:
            raise InputError(self._unknown(error.flagname)) from None
        except UnicodeDecodeError:
            raise InputError("--flagfile: the file is not UTF-8 text") from None
        except (absl_flags.Error, OSError) as error:
            raise InputError(_plain(str(error))) from None
        if rest and not self._words:
            raise InputError(self._stray(rest[0], arguments))
        names = self.names()
        given = frozenset(name for name in names if self.values[name].present)
        for name in given:
            self._check(name, self.values[name].value)
        words = {self._words[0]: tuple(rest)} if self._words else {}
        return {name: self.values[name].value for name in names} | words, given

    @staticmethod
    def _check(name: str, value) -> None:
        if value == "" and name not in _MAY_BE_EMPTY:
            raise InputError(
                f"--{name}= has no value (a variable that is not set?); leave the flag out for the default"
            )
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"--{name}={value}: a finite number is needed")

    def _unknown(self, name: str) -> str:
        bare = name.replace("-", "_")
        known = self.names()
        if bare in _KNOWN_MISTAKES:
            return f"unknown flag --{name}: {_KNOWN_MISTAKES[bare]}"
        close = difflib.get_close_matches(bare.removeprefix("no"), known, n=1) or difflib.get_close_matches(
            bare, known, n=1
        )
        return f"unknown flag --{name}" + (f"; did you mean --{close[0]}?" if close else "; --help lists all flags")

    def _stray(self, word: str, arguments: list[str]) -> str:
        position = arguments.index(word) if word in arguments else 0
        before = arguments[position - 1].lstrip("-") if position else ""
        if before in self.names() and self.values[before].boolean:
            return (
                f"stray word {word!r}: --{before} is true by itself and takes no word after a blank; write "
                f"--{before}=true or --{before}=false"
            )
        return f"stray word {word!r}: every argument is a flag such as --name=value (is a blank inside a value not quoted?)"

    def help(self, command: str, description: str) -> str:
        """The text of --help."""
        lines = [f"{command} {__version__}", "", description.strip(), ""]
        if self._words:
            lines += [f"{self._words[0].upper()}: {self._words[1]}", ""]
        for title, names in self._sections:
            lines += [f"{title}:"]
            for name in names:
                flag = self.values[name]
                default = "" if flag.default is None else f" (default: {_shown(flag.default)})"
                body = f"{flag.help}{default}"
                lines += textwrap.wrap(body, _HELP_WIDTH, initial_indent=f"  --{name}: ", subsequent_indent="      ")
            lines.append("")
        lines.append(
            "--flagfile=FILE reads flags from a file, one --name=value a line. Booleans: --x, --nox, --x=true, --x=false."
        )
        return "\n".join(lines)


def _plain(text: str) -> str:
    text = " ".join(text.split())
    for pattern, replacement in _PLAINER:
        text = re.sub(pattern, replacement, text)
    return text


def _shown(value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def define_gelu_flag(flags: CommandFlags) -> None:
    flags.enum(
        "gelu", "auto", ("auto", "erf", "tanh"), "form of gelu; auto: tanh for Google's config, erf for Hugging Face's"
    )


def define_hub_flags(flags: CommandFlags, can_train: bool = True) -> None:
    """Flags about a module for tensorflow-hub in the place of --init_checkpoint."""
    flags.string(
        "hub_module", None, "instead of --init_checkpoint an encoder for tensorflow-hub: a folder, a .tar.gz, or a URL, which "
        "tensorflow-hub downloads and keeps; one that is no BERT is run as it is"
    )  # fmt: skip
    flags.string(
        "hub_preprocess",
        None,
        "the preprocessor that belongs to it, for vocabulary and casing; default: as --hub_module says",
    )
    if can_train:
        flags.boolean("hub_trainable", True, "train the module too; false trains only what stands on top of it")


def check_hub_flags(values: dict) -> None:
    """InputError where what define_hub_flags defines does not go with the other flags."""
    # A run that does not train may name both: a model that was trained on a module, and this module.
    if values["hub_module"] and values["init_checkpoint"] and values.get("do_train"):
        raise InputError("--hub_module and --init_checkpoint: both name a model to start from; give one of them")
    if not values["hub_module"] and not values.get("hub_trainable", True):
        raise InputError("--hub_trainable=false is about --hub_module, which is missing")


def define_saving_flags(flags: CommandFlags) -> None:
    """Flags about what a training run leaves behind, shared by all commands that train."""
    flags.integer("save_checkpoints_steps", 1000, "steps between checkpoints", lower=1)
    flags.integer("keep_checkpoint_max", 5, "how many checkpoints are kept; 0 for all", lower=0)
    flags.integer("log_steps", 100, "steps between lines of progress where there is no terminal", lower=1)


def define_device_flags(flags: CommandFlags, precision: str = "auto") -> None:
    """Flags about devices and numbers, shared by all commands with a model; the TPU block is the original's."""
    flags.section("Devices")
    flags.enum(
        "distribution_strategy",
        "auto",
        ("auto", "one_device", "mirrored", "multi_worker", "tpu"),
        "where to compute; auto takes a TPU with --use_tpu, all GPUs where there are several, several machines where "
        "TF_CONFIG names them, else one device",
    )
    flags.enum(
        "precision",
        precision,
        ("auto", "float32", "bfloat16", "float16"),
        "dtype of matrix products; auto is bfloat16 where the hardware has it fast, else float32",
    )
    flags.boolean("use_tpu", False, "run on a TPU (needs tensorflow-tpu 2.20)")
    flags.string("tpu_name", None, "name or grpc:// address of the TPU")
    flags.string("tpu_zone", None, "zone of the TPU")
    flags.string("gcp_project", None, "project of the TPU")
    flags.string("master", None, "accepted for Google's commands, without effect")
    flags.integer("num_tpu_cores", 8, "accepted for Google's commands; all cores of the TPU are used")
    flags.integer("iterations_per_loop", 1000, "accepted for Google's commands, without effect")
    flags.boolean("use_one_hot_embeddings", False, "accepted for Google's commands, without effect")


def write_flags(path: str, values: dict) -> None:
    """Write flags.txt: one --name=value a line, for --flagfile; flags without a value are left out."""
    with atomic_write(path) as file:
        for name, value in values.items():
            if value is not None:
                file.write(f"--{name}={_shown(value)}\n")


def read_flags(path: str) -> dict[str, str]:
    """The flags of a flags.txt, as text; an empty dict where there is none."""
    if not files.exists(path):
        return {}
    pairs = (line.removeprefix("--").partition("=") for line in read_text(path).split("\n") if line)
    return {name: value for name, _, value in pairs}


def remembered_flags(path: str, define: Callable[[CommandFlags], None], names: list[str]) -> dict:
    """Values of those of `names` that the flags.txt of an earlier run has; InputError, naming it, for a bad value."""
    saved = read_flags(path)
    kept = [name for name in names if name in saved]
    flags = CommandFlags()
    define(flags)
    try:
        values, _ = flags.parse([f"--{name}={saved[name]}" for name in kept])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return {name: values[name] for name in kept}


class _StderrHandler(logging.Handler):
    """Writes to whatever sys.stderr is now, so that lines pass above a progress bar."""

    def emit(self, record):
        print(self.format(record), file=sys.stderr, flush=True)


def run_command(
    command: str,
    description: str,
    define: Callable[[CommandFlags], None],
    run: Callable,
    arguments=None,
    interrupted: str = "the same command goes on from the last checkpoint",
) -> int:
    """Parse the command line, call `run(values, given)`, and turn an InputError into one line; returns the exit code.

    `interrupted`: what to say after Ctrl-C.
    """
    try:
        return _run_command(command, description, define, run, sys.argv[1:] if arguments is None else arguments)
    except InputError as error:
        print(f"{command}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{command}: interrupted; {interrupted}", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output, such as `head`, has gone
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for descriptor in (1, 2):
            os.dup2(nowhere, descriptor)
        return 1


def _run_command(
    command: str, description: str, define: Callable[[CommandFlags], None], run: Callable, arguments: list[str]
) -> int:
    flags = CommandFlags()
    define(flags)
    asked = {argument.lstrip("-") for argument in arguments if argument.startswith("-")}
    if asked & {"help", "helpfull", "helpshort", "h"}:
        print(flags.help(command, description), flush=True)
        return 0
    if "version" in asked:
        print(f"{command} {__version__}", flush=True)
        return 0
    log = logging.getLogger("bert_cli")
    if not any(isinstance(handler, _StderrHandler) for handler in log.handlers):
        log.addHandler(_StderrHandler())
        log.propagate = False
    log.setLevel(logging.INFO)
    run(*flags.parse(arguments))
    return 0
