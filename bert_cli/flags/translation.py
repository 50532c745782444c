"""--from_command: a command line of a script by Hugging Face or Google, written with our flags."""

import functools
import itertools
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.base.names import HUB_PREFIX
from bert_cli.flags.foreign import OFF, Advice, fitting_advice, unknown_flags_message
from bert_cli.flags.option import Flag, build, every_flag
from bert_cli.flags.parser import parse
from bert_cli.flags.refusals import refusals

FROM_COMMAND = "from_command"
_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts.tsv")
_BATCH, _PARTS = "per_device_train_batch_size", "gradient_accumulation_steps"
_REVISION = "model_revision"
_HUB_NAME = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", re.ASCII)
_STRATEGIES = ("eval_strategy", "evaluation_strategy")
# Default of theirs -> flag of theirs that replaces it.
_REPLACED_BY = {"num_train_epochs": "max_steps", "warmup_ratio": "warmup_steps", "warmup_steps": "warmup_ratio"}


class Script(NamedTuple):
    """A script by Hugging Face or Google, a row of scripts.tsv.

    Attributes:
        command: our command for the same task.
        defaults: their flags and values that differ from ours if they are not given.
        implied: our flags that do what the script always does.
    """

    command: str
    defaults: tuple[str, ...]
    implied: tuple[str, ...]


@functools.cache
def scripts() -> Mapping[str, Script]:
    """Return the scripts by file name."""
    by_name: dict[str, Script] = {}
    with open(_FILE, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                names, command, defaults, implied = line.rstrip("\n").split("\t")
                script = Script(command, tuple(defaults.split()), tuple(implied.split()))
                by_name |= dict.fromkeys(names.split(), script)
    return by_name


def scripts_of(command: str) -> list[str]:
    """Return the file names of the scripts that a command replaces."""
    return [name for name, script in scripts().items() if script.command == command]


def command_to_translate(arguments: Sequence[str]) -> str | None:
    """Return the value of --from_command, or None without this flag."""
    for argument, following in itertools.zip_longest(arguments, arguments[1:], fillvalue=""):
        name, equals, value = argument.partition("=")
        if name in (f"--{FROM_COMMAND}", f"-{FROM_COMMAND}"):
            return value if equals else following
    return None


def translate(settings_class: type, command: str, text: str) -> str:
    """Return a script's command line with our flags, and a comment per flag without a counterpart.

    Args:
        settings_class: dataclass of the command's flag groups.
        command: our command.
        text: a command line that runs one of `scripts`.

    Raises:
        InputError: if the text names no script, or one that another command replaces.
    """
    script, their_flags, launcher_flags = _read_command(command, text)
    if "do_train" in their_flags and their_flags["do_train"].lower() not in OFF:
        defaults = (default.removeprefix("--").partition("=") for default in script.defaults)
        for name, _, value in defaults:
            if _REPLACED_BY.get(name) not in their_flags:
                their_flags.setdefault(name, value)
        implied: Sequence[str] = script.implied
    else:
        implied = [flag for flag in script.implied if flag == "--no_nsp"]
    flags = {flag.name: flag for flag in every_flag(settings_class)}
    ours: dict[str, str] = {}
    remarks = [
        f"{word}: is a flag of the launcher; multiply --train_batch_size by the number of devices"
        for word in launcher_flags
    ]
    remarks += _join_related(their_flags)
    revision = their_flags.pop(_REVISION, "")
    for name, value in their_flags.items():
        remarks += _translate_flag(name, value, flags, ours)
    if _is_on_hub(ours.get("init_checkpoint", "")):
        ours["init_checkpoint"] = f"{HUB_PREFIX}{ours['init_checkpoint']}{f'@{revision}' if revision else ''}"
        remarks.append("--init_checkpoint: downloads the model, with the extra hub; a directory needs no network")
    elif revision:
        remarks += _translate_flag(_REVISION, revision, flags, ours)
    words = [*(f"--{name}={value}" if value else f"--{name}" for name, value in ours.items()), *implied]
    try:
        values, _ = parse(settings_class, words)
        problems = [refusal.message for refusal in refusals(build(settings_class, values))]
    except InputError as error:
        problems = [str(error)]
    remarks += [f"before it runs: {problem}" for problem in problems]
    return "\n".join([shlex.join([command, *words]), *(f"# {remark}" for remark in remarks)])


def _read_command(command: str, text: str) -> tuple[Script, dict[str, str], list[str]]:
    """Return the script in a command line, its flags with their values, and a launcher's flags.

    A value is "" for a flag without one. The launcher, such as torchrun, is before the script.
    """
    flag = f"--{FROM_COMMAND}"
    try:
        words = shlex.split(text.replace("\\\n", " "))
    except ValueError as error:
        raise InputError(f"{flag}: {error}; check the quotes") from None
    names = [os.path.basename(word) for word in words]
    index = next((index for index, name in enumerate(names) if name in scripts()), None)
    replaced_scripts = scripts_of(command)
    if not replaced_scripts:
        commands = list_names(sorted({script.command for script in scripts().values()}))
        raise InputError(f"{flag}: {command} replaces no script of transformers; {commands} do")
    if index is None:
        names_text = list_names(replaced_scripts)
        raise InputError(f"{flag}: names none of {names_text}, which {command} replaces")
    script = scripts()[names[index]]
    if script.command != command:
        used = names[index]
        raise InputError(f"{flag}: {used} is replaced by {script.command}, not by {command}")
    flags: dict[str, str] = {}
    name = ""
    for word in words[index + 1 :]:
        if word.startswith("--"):
            name, _, value = word.removeprefix("--").partition("=")
            name = name.replace("-", "_")
            flags[name] = value
        elif not name:
            raise InputError(f"{flag}: {word!r} is no flag; give flags instead of a file with them")
        else:
            flags[name] = f"{flags[name]} {word}".strip()
    return script, flags, [word for word in words[:index] if word.startswith("--")]


def _is_on_hub(model: str) -> bool:
    """Return whether transformers would download this model: it is a name, and no path here."""
    owner = os.path.dirname(model)
    is_name = _HUB_NAME.fullmatch(model) is not None and "-" in os.path.basename(model)
    return is_name and not os.path.exists(model) and not os.path.isdir(owner)


def _join_related(their_flags: dict[str, str]) -> list[str]:
    """Rewrite flags that only have a meaning together, and return remarks on them."""
    remarks = []
    parts = their_flags.get(_PARTS, "1")
    rows = their_flags.get(_BATCH, "")
    if parts.isdecimal() and rows.isdecimal() and int(parts) > 1:
        their_flags[_BATCH] = str(int(parts) * int(rows))
        remarks.append(
            f"--train_batch_size: the batch of an update, {rows} x {parts}; times the devices, if there are several"
        )
    columns = their_flags.get("text_column_names", "").split(",")
    if len(columns) == 2:  # the script joins them; here, they are a pair
        their_flags["text_column_names"], their_flags["text_b_column"] = columns
        remarks.append("--text_b_column: a second text, which the script joins to the first one")
    for name in _STRATEGIES:
        strategy = their_flags.get(name)
        if strategy == "steps":
            # transformers evaluates as often as it logs, unless --eval_steps is given.
            their_flags.setdefault("eval_steps", their_flags.get("logging_steps", "500"))
        elif strategy is not None:
            their_flags.pop("eval_steps", None)
    if not any(name in their_flags for name in _STRATEGIES):
        their_flags.pop("eval_steps", None)
    warmup = their_flags.get("warmup_steps", "")
    if _is_fraction(warmup):  # transformers 5: below 1, it is a fraction
        their_flags.setdefault("warmup_ratio", their_flags.pop("warmup_steps"))
    return remarks


def _is_fraction(text: str) -> bool:
    try:
        return 0 < float(text) < 1
    except ValueError:
        return False


def _translate_flag(name: str, value: str, flags: Mapping[str, Flag], ours: dict[str, str]) -> list[str]:
    """Add a flag of theirs to `ours`, and return remarks on it, such as a missing counterpart."""
    advice = fitting_advice(name, flags)
    if name in flags:
        advice = advice if advice and advice.flags else None
        ours_name, note = name, advice.note if advice else ""
    elif advice is None or not advice.flags or " " in advice.flags:
        is_default = advice is not None and _our_value(advice, value) == ""
        message = unknown_flags_message([name], flags, ": is unknown here")
        return [] if is_default else [message.removeprefix("unknown flag ")]
    else:
        ours_name, _, fixed = advice.flags.removeprefix("--").partition("=")
        note = advice.note
        if fixed:
            if value.lower() in OFF:
                return []
            value = fixed
    our_value = _our_value(advice, value) if advice else value
    if our_value is None:
        accepted = dict.fromkeys(pair.partition("=")[2] for pair in advice.values.split()) if advice else {}
        return [f"--{name}={value}: --{ours_name} is one of {list_names(list(filter(None, accepted)))}"]
    if our_value == "" and value:
        return []
    if our_value.startswith("--"):
        ours_name, our_value = our_value.removeprefix("--"), ""
    if ours_name in ours:
        same = ours[ours_name] == our_value
        return [] if same else [f"--{name}={value}: --{ours_name}={ours[ours_name]} is already there"]
    if flags[ours_name].value_type is bool:
        is_off = our_value.lower() in OFF
        if is_off and flags[ours_name].default is False:
            return []
        our_value = "false" if is_off else ""
    if _counts_differently(ours_name, name):
        return [f"--{name}={value}: the flag is --{ours_name}, {note}"]
    ours[ours_name] = our_value
    return [f"--{ours_name}={our_value}: {note}"] if note and name == ours_name else []


def _counts_differently(ours_name: str, name: str) -> bool:
    """Return whether steps have to become epochs or fractions, or the other way round."""
    return name != ours_name and (name, ours_name) in {
        ("max_steps", "num_train_epochs"),
        ("warmup_steps", "warmup_proportion"),
        ("num_train_epochs", "num_train_steps"),
        ("warmup_ratio", "num_warmup_steps"),
    }


def _our_value(advice: Advice, value: str) -> str | None:
    """Return the value in our flag; "" if none is needed, None if there is none."""
    if advice.values == "/100":
        return f"{float(value) / 100:g}" if value.replace(".", "", 1).isdecimal() else None
    if not advice.values:
        return value if advice.flags else None
    pairs = dict(pair.split("=", 1) for pair in advice.values.split())
    return pairs.get(value, pairs.get(value.lower()))
