"""Flags as fields of groups: frozen dataclasses that hold everything about their flags.

    class Training(FlagGroup, heading="Training"):
        learning_rate: float = option(5e-5, "peak learning rate of Adam", lower=0.0, decides=True)

A command's Settings are a dataclass of such groups. `group` puts one in, with the command's
defaults:

    training: Training = group(Training, learning_rate=1e-4)

If Settings have `essential: ClassVar[tuple[str, ...]]`, it names the flags that most people need.
--help shows these, and --helpfull shows all flags. If they have `environment_prefix: ClassVar[str]`,
each flag can also be set by an environment variable with this prefix.

The parser, --help, flags.txt, the manifest and the values that later runs remember all use these
fields. A field also declares which flags it needs or excludes, see bert_cli/flags/rules.py. If
Settings have `modes: ClassVar[tuple[str, ...]]`, exactly one of these conditions must hold.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar

from bert_cli.flags.rules import Conditions, Rule, make_rules


@dataclasses.dataclass(frozen=True)
class Option:
    """Properties that a flag has besides its type and default.

    Attributes:
        help: the help text. --help shows its first clause, up to "; ", and --helpfull shows all of
            it.
        lower, upper: inclusive bounds for a number.
        above: exclusive lower bound.
        choices: all allowed values, or None.
        decides: whether the value changes the result of training, so that it belongs in the
            manifest.
        remembered: whether a run without training uses the value in the training run's flags.txt.
        path: whether flags.txt stores the value as an absolute path.
        transient: whether flags.txt omits the flag because it concerns a single run.
        ignored: whether the flag has no effect and is only accepted for Google's commands.
        may_be_empty: whether an empty value is allowed; scripts pass one if they do not use the
            flag.
        read: function from the text on the command line to the value. It raises InputError.
        write: inverse of `read`, for flags.txt.
        flag: the flag's name if it differs from the field's name.
        words: whether the flag takes the arguments that are not flags.
        file: whether the value names a file or directory. Not needed with `path`, or if the flag's
            name ends in _file or _dir.
        suggestions: values that completion offers although others are allowed too. For a path,
            words that are not paths.
        grid: whether a comma-separated list of numbers is allowed. The field is then a tuple until
            runs.sweep.sweep makes one run per number.
        implicit_value: value for a text flag that is given without a value, or None.
        repeat_advice: advice in the error if the flag is given twice. "" allows this, and the last
            value wins.
        repeated: whether the flag may be given several times; `read` gets all values as lines.
        csv_quotes: whether quotes belong to names in the value, as in CSV.
        needs: conditions on other flags that must hold if the flag is set, see flags.rules.
        excludes: conditions on other flags that must not hold if the flag is set.
        because: reasons of these rules, for error messages.
        required: whether the flag must be given. A text such as "unless show_attention" names an
            exception.
        decides_predictions: whether the value changes the outputs for given texts, so that several
            processes, and a resumed run, must have the same value.
        of_tables: whether the flag has an effect on tables only, not on files of lines.
        keeps_data: whether runs of a sweep share the training data if they differ in this flag.
        keeps_network: whether they share the network and its traced training step.
        python_argument: whether methods in Python have it as an option, by this name. Others are
            arguments of single methods, or make sense on a command line only.
    """

    help: str
    lower: float | None = None
    upper: float | None = None
    above: float | None = None
    choices: tuple[str, ...] | None = None
    decides: bool = False
    remembered: bool = False
    path: bool = False
    transient: bool = False
    ignored: bool = False
    may_be_empty: bool = False
    read: Callable[[str], Any] | None = None
    write: Callable[[Any], str] | None = None
    flag: str | None = None
    words: bool = False
    file: bool = False
    suggestions: tuple[str, ...] = ()
    grid: bool = False
    implicit_value: str | None = None
    repeat_advice: str = ""
    repeated: bool = False
    csv_quotes: bool = False
    needs: Conditions = ()
    excludes: Conditions = ()
    because: str | Mapping[str, str] = ""
    required: bool | str = False
    decides_predictions: bool = False
    of_tables: bool = False
    keeps_data: bool = False
    keeps_network: bool = False
    python_argument: bool = True


def option(default: Any, help: str, **properties: Any) -> Any:
    """Return a field for a FlagGroup; `properties` are the attributes of Option."""
    return dataclasses.field(default=default, metadata={"option": Option(help, **properties)})


# Shortcuts for the most common properties of Option.
deciding_option = functools.partial(option, decides=True)
remembered_option = functools.partial(option, remembered=True)
transient_option = functools.partial(option, transient=True)


@typing.dataclass_transform(frozen_default=True)
class FlagGroup:
    """Base class for groups of flags; each subclass becomes a frozen dataclass.

    Attributes:
        heading: title above these flags in --help.
    """

    heading: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __init_subclass__(cls, heading: str) -> None:
        # The annotations exist by now, so no subclass needs the dataclass decorator.
        cls.heading = heading
        dataclasses.dataclass(frozen=True)(cls)


def group(
    group_class: type[FlagGroup],
    overrides: dict[str, str | dict[str, Any]] | None = None,
    *,
    only: Collection[str] | None = None,
    without: Collection[str] = (),
    **defaults: Any,
) -> Any:
    """Return a field for a command's Settings that holds a group with the command's defaults.

    Args:
        overrides: by field, the command's help text or other properties from Option, such as
            {"lower": 1}.
        only: fields that the command has as flags; None for all fields.
        without: fields that the command does not have as flags; they keep their defaults.
        defaults: the command's defaults by field.
    """
    options = {field.name: field.metadata["option"] for field in dataclasses.fields(group_class)}
    if unknown := {*(overrides or ()), *(only or ()), *without}.difference(options):
        raise TypeError(f"{group_class.__name__} has no field {', '.join(sorted(unknown))}")
    for name, override in (overrides or {}).items():
        options[name] = dataclasses.replace(
            options[name], **({"help": override} if isinstance(override, str) else override)
        )
    flags = {name: options[name] for name in options if name not in without and (only is None or name in only)}
    return dataclasses.field(default_factory=lambda: group_class(**defaults), metadata={"options": flags})


@dataclasses.dataclass(frozen=True)
class Flag:
    """A single flag that a command has.

    Attributes:
        name: its name on the command line.
        heading: title above it in --help.
        group: field in the command's Settings that holds its group.
        field: field in the group that holds its value.
        value_type: bool, int, float or str.
        default: the command's default.
        option: all other properties.
        rules: rules of the flag about other flags of the command.
    """

    name: str
    heading: str
    group: str
    field: str
    value_type: type
    default: Any
    option: Option
    rules: tuple[Rule, ...] = ()

    @property
    def label(self) -> str:
        """Return the flag in messages and help: --name, or NAME if it takes words."""
        return self.name.upper() if self.option.words else f"--{self.name}"

    @property
    def is_file(self) -> bool:
        """Return whether the value names a file or directory."""
        is_file = self.option.file or self.option.path or self.name.endswith(("_file", "_dir"))
        return is_file and self.value_type is str

    @property
    def is_free_text(self) -> bool:
        """Return whether the value may be any text: not a path, number or choice."""
        option = self.option
        return self.value_type is str and not (self.is_file or option.choices or option.suggestions or option.read)


def flag_named(argument: str, flags: Mapping[str, Flag]) -> Flag | None:
    """Return the flag in an argument such as --name, --noname or --name=value, or None.

    Args:
        argument: a command-line argument.
        flags: the command's flags by name.
    """
    name = argument.lstrip("-").partition("=")[0]
    return flags.get(name) or flags.get(name.removeprefix("no"))


def every_flag(settings_class: type) -> tuple[Flag, ...]:
    """Return a command's flags in the order of its groups, which is the order of flags.txt."""
    return _flags(settings_class)


@functools.cache
def _flags(settings_class: type) -> tuple[Flag, ...]:
    flags: list[Flag] = []
    defaults = settings_class()
    group_classes = typing.get_type_hints(settings_class)
    for field in dataclasses.fields(settings_class):
        group_class = group_classes[field.name]
        values = getattr(defaults, field.name)
        field_types = typing.get_type_hints(group_class)
        flags += [
            Flag(
                flag_option.flag or name,
                group_class.heading,
                field.name,
                name,
                _value_type(field_types[name]),
                getattr(values, name),
                flag_option,
            )
            for name, flag_option in field.metadata["options"].items()
        ]
    names = {flag.name for flag in flags}
    rules = {
        flag.name: make_rules(flag.name, flag.option.needs, flag.option.excludes, flag.option.because, names)
        for flag in flags
    }
    return tuple(dataclasses.replace(flag, rules=tuple(rules[flag.name])) for flag in flags)


def essential_flags(settings_class: type) -> list[Flag]:
    """Return the flags that --help shows.

    Settings name them in `essential`. Without it, these are all flags that have an effect.
    """
    flags = every_flag(settings_class)
    essential: tuple[str, ...] = getattr(settings_class, "essential", ())
    if unknown := set(essential).difference(flag.name for flag in flags):
        raise TypeError(f"{settings_class.__name__}.essential names no flag: {', '.join(sorted(unknown))}")
    return [flag for flag in flags if (flag.name in essential if essential else not flag.option.ignored)]


def _value_type(annotation: Any) -> type:
    """Return bool, int or float from an annotation; otherwise str, even if Option.read converts it."""
    union_types = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    return next((number_type for number_type in (bool, int, float) if number_type in union_types), str)


def build(settings_class: type, values: dict[str, Any]) -> Any:
    """Return Settings with the given values by flag name, and defaults for all other flags."""
    return replace_values(settings_class(), values)


def replace_values(settings: Any, values: dict[str, Any]) -> Any:
    """Copy a command's Settings with new values for some flags.

    Args:
        values: new values by flag name.
    """
    changes: dict[str, dict[str, Any]] = {}
    flags = {flag.name: flag for flag in every_flag(type(settings))}
    for name, value in values.items():
        flag = flags[name]
        changes.setdefault(flag.group, {})[flag.field] = value
    replaced = {
        group_name: dataclasses.replace(getattr(settings, group_name), **fields)
        for group_name, fields in changes.items()
    }
    return dataclasses.replace(settings, **replaced)


def grid_values(settings: Any) -> dict[str, tuple]:
    """Return the flags that were given a list of numbers, as {flag name: tuple}."""
    values = flag_values(settings)
    grids = (flag.name for flag in every_flag(type(settings)) if flag.option.grid)
    return {name: values[name] for name in grids if isinstance(values[name], tuple)}


def flag_values(settings: Any) -> dict[str, Any]:
    """Return a command's flag values by name, without flags that are ignored."""
    flags = every_flag(type(settings))
    return {flag.name: getattr(getattr(settings, flag.group), flag.field) for flag in flags if not flag.option.ignored}


def select_values(settings: Any, is_selected: Callable[[Option], bool]) -> dict[str, Any]:
    """Return the values, by flag name, of flags with a property."""
    flags = {flag.name: flag.option for flag in every_flag(type(settings))}
    return {name: value for name, value in flag_values(settings).items() if is_selected(flags[name])}


def deciding_values(settings: Any) -> dict[str, Any]:
    """Return the values, by flag name, that decide the result of training."""
    return select_values(settings, lambda option: option.decides)


def prediction_values(settings: Any, has_tables: bool) -> dict[str, Any]:
    """Return the values, by flag name, that decide the outputs for given texts.

    Args:
        has_tables: whether the texts are in tables.
    """
    return select_values(settings, lambda option: option.decides_predictions and (has_tables or not option.of_tables))
