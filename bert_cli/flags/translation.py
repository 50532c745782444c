"""--from_command: a command line of another program, written with our flags."""

import itertools
import math
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_names
from bert_cli.base.names import HUB_PREFIX
from bert_cli.flags.foreign.advice import OFF, Advice, fitting_advice, unknown_flags_message
from bert_cli.flags.foreign.command_lines import ForeignLine, flags_of_variables, read_foreign_line, scripts, scripts_of
from bert_cli.flags.foreign.implied import implied_words
from bert_cli.flags.option import Flag, build, every_flag
from bert_cli.flags.parser import parse
from bert_cli.flags.refusals import refusals

FROM_COMMAND = "from_command"
_BATCH, _PARTS = "per_device_train_batch_size", "gradient_accumulation_steps"
_OLD_BATCH = "per_gpu_train_batch_size"
_REVISIONS = ("model_revision", "revision")
_OVERRIDES = "params_override"  # of the model garden: name=value, separated by commas
_HUB_NAME = re.compile(r"(?:[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*", re.ASCII)
_STRATEGIES = ("eval_strategy", "evaluation_strategy")
_STEPS = ("max_steps", "max_train_steps", "trainer.train_steps")
_WARMUP = ("warmup_steps", "num_warmup_steps", "trainer.optimizer_config.warmup.polynomial.warmup_steps")
# Default of theirs -> flags of theirs that replace it.
_REPLACED_BY = {"num_train_epochs": _STEPS, "warmup_ratio": _WARMUP, "warmup_steps": ("warmup_ratio", *_WARMUP[1:])}
_ON = ("", "true", "yes", "1", "y", "t", "on")
_COUNTS = ("processes", "machines")  # remarks in flags.tsv about flags of launchers
_LAUNCHER, _VARIABLE = "launcher/", "variable/"  # before their names in flags.tsv


def command_to_translate(arguments: Sequence[str]) -> str | None:
    """Return the value of --from_command, or None without this flag."""
    for argument, following in itertools.zip_longest(arguments, arguments[1:], fillvalue=""):
        name, equals, value = argument.partition("=")
        if name in (f"--{FROM_COMMAND}", f"-{FROM_COMMAND}"):
            return value if equals else following
    return None


def translate(settings_class: type, command: str, text: str) -> str:
    """Return a command line with our flags, and a comment per flag without a counterpart.

    Args:
        settings_class: dataclass of the command's flag groups.
        command: our command.
        text: a command line that runs one of `scripts`.

    Raises:
        InputError: if the text names no program, or one that another command replaces.
    """
    line = _read(command, text)
    translator = _Translator({flag.name: flag for flag in every_flag(settings_class)})
    translator.add(line)
    words = [*(f"--{name}={value}" if value else f"--{name}" for name, value in translator.ours.items())]
    words += implied_words(line.script.implied, translator.ours)
    try:
        values, _ = parse(settings_class, words)
        problems = [refusal.message for refusal in refusals(build(settings_class, values))]
    except InputError as error:
        problems = [str(error)]
    remarks = [*translator.remarks, *filter(None, [line.script.note])]
    remarks += [f"before it runs: {problem}" for problem in problems]
    return "\n".join([" ".join(map(_quote, [*translator.kept_variables, command, *words])), *map(_comment, remarks)])


def _quote(word: str) -> str:
    """Return a word for a shell, which still replaces a variable such as $DATA in it."""
    return f'"{word}"' if re.search(r"\$[\w{]", word) and '"' not in word else shlex.quote(word)


def _comment(remark: str) -> str:
    return f"# {' '.join(remark.split())}"


def _read(command: str, text: str) -> ForeignLine:
    """Return a command line's parts, or raise InputError if `command` replaces no program in it."""
    flag = f"--{FROM_COMMAND}"
    replaced_names = scripts_of(command)
    if not replaced_names:
        commands = list_names(sorted({name for script in scripts() for name in script.commands}))
        raise InputError(f"{flag}: {command} replaces no other program; {commands} do")
    line = read_foreign_line(text, flag)
    if line is None:
        raise InputError(f"{flag}: names none of {list_names(replaced_names)}, which {command} replaces")
    replacements = line.script.commands
    refuse_if(
        command not in replacements, f"{flag}: {line.name} is replaced by {list_names(replacements)}, not by {command}"
    )
    return line


class _Translator:
    """Translator of a command line's flags, which uses the table of foreign flags.

    Attributes:
        flags: our command's flags by name.
        ours: values by flag of ours, "" for a switch.
        remarks: comments on flags without a counterpart.
        graphs: flags of ours for a model that were given a graph, such as a SavedModel.
        kept_variables: variables that our command uses, too, as NAME=VALUE.
    """

    def __init__(self, flags: Mapping[str, Flag]) -> None:
        self.flags = flags
        self.ours: dict[str, str] = {}
        self.remarks: list[str] = []
        self.graphs: set[str] = set()
        self.kept_variables: list[str] = []

    def add(self, line: ForeignLine) -> None:
        """Translate all parts of a command line."""
        theirs = {**dict(flags_of_variables(line)), **line.flags}
        theirs |= dict(_overrides(theirs.pop(_OVERRIDES, "")))
        if self._trains(line, theirs):
            for name, _, value in (default.removeprefix("--").partition("=") for default in line.script.defaults):
                if not self._is_given(name, theirs):
                    theirs[name] = value
        self.remarks += _join_related(theirs, _processes(line.launcher))
        if "num_warmup_steps" not in self.flags:
            _join_warmup(theirs)
        revision = next(filter(None, [theirs.pop(name, "") for name in _REVISIONS]), "")
        for name, value in theirs.items():
            self._add_flag(name, value)
        self._name_hub_model(revision)
        for flag, value in line.launcher:
            self._add_outer(_launcher_key(flag), value, flag, "is a flag of the launcher")
        for name, value in line.variables.items():
            self._add_outer(_VARIABLE + name.lower(), value, name, "is a variable that is unknown here")
        self.remarks += [f"{word}: belongs to no flag" for word in line.strays]
        if line.shell_words:
            self.remarks.append(f"{' '.join(line.shell_words)}: is for the shell; add it again")

    def _trains(self, line: ForeignLine, theirs: Mapping[str, str]) -> bool:
        """Return whether the defaults of a program count: it trains, or it is not for training."""
        trial = _Translator(self.flags)
        for name in ("do_train", "train", "mode"):
            if name in theirs:
                trial._add_flag(name, theirs[name])
        return "do_train" not in self.flags or "--do_train" in line.script.implied or trial.ours.get("do_train") == ""

    def _is_given(self, default: str, theirs: Mapping[str, str]) -> bool:
        """Return whether a flag like one of the defaults is given."""
        names = {self._our_name(default), *_REPLACED_BY.get(default, ())}
        return any(name in names or self._our_name(name) in names for name in theirs)

    def _our_name(self, name: str) -> str:
        """Return the flag of ours for one of theirs, or the same name."""
        advice = None if name in self.flags else fitting_advice(name, self.flags)
        return advice.flags.removeprefix("--").partition("=")[0] if advice and advice.flags else name

    def _name_hub_model(self, revision: str) -> None:
        """Use hf:OWNER/NAME for a model on Hugging Face's hub."""
        names = ("init_checkpoint", "from", "distill_from", *([] if "do_train" in self.flags else ["output_dir"]))
        for name in names:
            model = self.ours.get(name, "")
            if name not in self.graphs and _is_on_hub(model):
                self.ours[name] = f"{HUB_PREFIX}{model}{f'@{revision}' if revision else ''}"
                self.remarks.append(f"--{name}: downloads the model, with the extra hub; a directory needs no network")
                revision = ""
        if revision and revision != "main":
            self._add_flag(_REVISIONS[0], revision)

    def _add_outer(self, key: str, value: str, label: str, reason: str) -> None:
        """Translate a launcher's flag, or a variable.

        Args:
            key: its name in flags.tsv.
            value: its value.
            label: its name in the command line.
            reason: remark if flags.tsv has no row for it.
        """
        advice = fitting_advice(key, self.flags)
        if advice is None:
            self.remarks.append(f"{label}{f'={value}' if value else ''}: {reason}; leave it out")
        elif advice.flags:
            self._add_flag(key, value, label)
        elif advice.remark == "kept":
            self.kept_variables.append(f"{label}={value}")
        elif advice.remark not in _COUNTS:
            self.remarks.append(f"{label}: {advice.note}")

    def _add_flag(self, name: str, value: str, label: str = "") -> None:
        """Add a flag of theirs to `ours`, or a remark, such as on a missing counterpart.

        Args:
            name: the flag.
            value: its value, "" for a switch.
            label: its name in remarks; "" for --NAME.
        """
        label = label or f"--{name}"
        if value.endswith((".yaml", ".yml")) and fitting_advice(f"{name}.yaml", self.flags):
            name = f"{name}.yaml"
        if name not in self.flags and (positive := self._negated(name)):
            name, value = positive, "false"
        advice = fitting_advice(name, self.flags)
        if name in self.flags and advice and not advice.flags:
            advice = None
        if advice and _is_list(advice, value):
            for item in value.split(","):
                self._add_flag(name, item, label)
            return
        our_value = _our_value(advice, value) if advice else value
        if advice and our_value and our_value.startswith("--"):
            for word in our_value.split("+"):
                self._set(word.removeprefix("--"), "", f"{label}={value}")
        elif name in self.flags:
            self._add_value(name, our_value, advice, f"{label}={value}", is_renamed=False)
        elif advice is None or not advice.flags or " " in advice.flags:
            message = unknown_flags_message([name], self.flags, ": is unknown here").removeprefix(
                f"unknown flag --{name}"
            )
            self.remarks += [] if advice and our_value == "" else [label + message]
        else:
            ours_name, _, fixed = advice.flags.removeprefix("--").partition("=")
            if fixed:
                our_value = "" if value.lower() in OFF else fixed
            if _counts_differently(ours_name, name) and our_value != "0":
                self.remarks.append(f"{label}={value}: the flag is --{ours_name}, {advice.note}")
            else:
                self._add_value(ours_name, our_value, advice, f"{label}={value}", is_renamed=True)

    def _add_value(self, name: str, value: str | None, advice: Advice | None, label: str, is_renamed: bool) -> None:
        """Add a flag of ours, with the remark on it in flags.tsv.

        Args:
            name: our flag.
            value: its value; None if theirs has no counterpart.
            advice: row of flags.tsv about their flag.
            label: their flag and value, for remarks.
            is_renamed: whether our flag has another name than theirs.
        """
        if value is None:
            accepted = dict.fromkeys(pair.partition("=")[2] for pair in advice.values.split()) if advice else {}
            self.remarks.append(f"{label}: --{name} is one of {list_names(list(filter(None, accepted)))}")
        elif value or label.endswith("="):
            is_new = self._set(name, value, label)
            if advice and advice.remark:
                self.graphs.add(name)
            if is_new and advice and advice.note and (advice.remark == "yes" or not is_renamed):
                self.remarks.append(f"--{name}={value}: {advice.note}")

    def _negated(self, name: str) -> str:
        """Return the name of a flag that is switched off, such as do_train in nodo_train, or ""."""
        if fitting_advice(name, self.flags):
            return ""
        candidates = [name.removeprefix(prefix) for prefix in ("no_", "no") if name.startswith(prefix)]
        return next((bare for bare in candidates if bare in self.flags or fitting_advice(bare, self.flags)), "")

    def _set(self, name: str, value: str, label: str) -> bool:
        """Set a flag of ours, unless it is set already; return whether this changed it."""
        if self.flags[name].value_type is bool:
            if value.lower() not in (*OFF, *_ON):
                self.remarks.append(f"{label}: --{name} is true or false")
            is_off = value.lower() in OFF
            if is_off and self.flags[name].default is False:
                return False
            value = "false" if is_off else ""
        if name in self.ours:
            if name == "report_to":
                self.ours[name] = ",".join(dict.fromkeys([*self.ours[name].split(","), value]))
            elif self.ours[name] != value:
                self.remarks.append(f"{label}: --{name}={self.ours[name]} is already there")
            return False
        self.ours[name] = value
        return True


def _is_on_hub(model: str) -> bool:
    """Return whether transformers would download this model: it is a name, and no path here."""
    owner = os.path.dirname(model)
    is_name = _HUB_NAME.fullmatch(model) is not None and "-" in os.path.basename(model)
    return is_name and not os.path.exists(model) and not os.path.isdir(owner)


def _overrides(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of the model garden's --params_override."""
    for pair in filter(None, text.strip().split(",")):
        name, _, value = pair.partition("=")
        yield name.strip(), value.strip()


def _processes(launcher: Iterable[tuple[str, str]]) -> int:
    """Return the number of processes that a launcher starts, 1 if it is not given."""
    numbers = dict.fromkeys(_COUNTS, 1)
    for flag, value in launcher:
        advice = fitting_advice(_launcher_key(flag), ())
        if advice and advice.remark in _COUNTS and value.isdecimal():
            numbers[advice.remark] = int(value)
    return math.prod(numbers.values())


def _launcher_key(flag: str) -> str:
    """Return the name that flags.tsv uses for a launcher's flag."""
    return _LAUNCHER + flag.lstrip("-").replace("-", "_")


def _join_related(theirs: dict[str, str], processes: int) -> list[str]:
    """Rewrite flags that only have a meaning together, and return remarks on them."""
    batch = _OLD_BATCH if _OLD_BATCH in theirs else _BATCH
    factors = [
        theirs.get(batch, ""),
        *(factor for factor in (theirs.get(_PARTS, "1"), str(processes)) if factor != "1"),
    ]
    remarks = []
    if len(factors) > 1 and all(factor.isdecimal() for factor in factors):
        theirs[batch] = str(math.prod(map(int, factors)))
        several = "; times the devices, if there are several"
        devices = "; with fewer devices, raise --gradient_accumulation_steps" if processes > 1 else several
        remarks.append(f"--train_batch_size: the batch of an update, {' x '.join(factors)}{devices}")
    columns = theirs.get("text_column_names", "").split(",")
    if len(columns) == 2:  # the script joins them; here, they are a pair
        theirs["text_column_names"], theirs["text_b_column"] = columns
        remarks.append("--text_b_column: a second text, which the script joins to the first one")
    for name in ("tokenizer_name", "config_name"):
        if theirs.get(name) and theirs[name] == theirs.get("model_name_or_path"):
            del theirs[name]  # the same files
    if "pytorch_model_path" in theirs:  # --model_name names the network then
        theirs.pop("model_name", None)
    _join_evaluation(theirs)
    return remarks


def _join_evaluation(theirs: dict[str, str]) -> None:
    """Leave only the flag that decides when transformers evaluates."""
    for name in _STRATEGIES:
        strategy = theirs.get(name)
        if strategy == "steps":
            # transformers evaluates as often as it logs, unless --eval_steps is given.
            theirs.setdefault("eval_steps", theirs.get("logging_steps", "500"))
        elif strategy is not None:
            theirs.pop("eval_steps", None)
    if not any(name in theirs for name in _STRATEGIES):
        theirs.pop("eval_steps", None)


def _join_warmup(theirs: dict[str, str]) -> None:
    """Write a number of warm-up steps as a fraction, if it is one or the number of steps is given."""
    steps = next((theirs[name] for name in _STEPS if theirs.get(name, "").isdecimal()), "0")
    for name in _WARMUP:
        warmup = theirs.get(name, "")
        if _is_fraction(warmup):  # transformers 5: below 1, it is a fraction
            theirs["warmup_ratio"] = theirs.pop(name)
        elif warmup.isdecimal() and int(steps) >= int(warmup) > 0:
            theirs["warmup_ratio"] = f"{int(theirs.pop(name)) / int(steps):.6g}"


def _is_fraction(text: str) -> bool:
    try:
        return 0 < float(text) < 1
    except ValueError:
        return False


def _counts_differently(ours_name: str, name: str) -> bool:
    """Return whether one flag uses steps, and the other epochs or fractions."""
    return name != ours_name and (
        (ours_name == "num_train_epochs" and name in (*_STEPS, "num_steps", "train_steps"))
        or (ours_name == "warmup_proportion" and name in _WARMUP)
        or (ours_name, name) in {("num_train_steps", "num_train_epochs"), ("num_warmup_steps", "warmup_ratio")}
    )


def _is_list(advice: Advice, value: str) -> bool:
    """Return whether a value is a list of values that the advice knows."""
    pairs = dict(pair.split("=", 1) for pair in advice.values.split() if "=" in pair)
    return "," in value and value not in pairs and all(item in pairs for item in value.split(","))


def _our_value(advice: Advice, value: str) -> str | None:
    """Return the value in our flag; "" if no flag is needed, None without a counterpart."""
    if advice.values == "/100":
        return f"{float(value) / 100:g}" if value.replace(".", "", 1).isdecimal() else None
    if advice.values == "port":  # of a container: 8080:80 is port 8080 of the machine
        return value.rpartition(":")[0].rpartition(":")[2] or value
    if advice.values == "directory":  # a file becomes a directory of its name
        return re.sub(r"\.(bin|pt|pth|onnx|safetensors|tflite)$", "", value)
    if not advice.values:
        return value if advice.flags else None
    pairs = dict(pair.split("=", 1) for pair in advice.values.split())
    our_value = pairs.get(value, pairs.get(value.lower(), pairs.get("*")))
    return value if our_value == "*" else our_value
