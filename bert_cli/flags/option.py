"""A flag is a field of a group: a frozen dataclass; its fields hold everything about their flags.

    class Training(FlagGroup, heading="Training"):
        learning_rate: float = option(5e-5, "peak learning rate of Adam", lower=0.0, decides=True)

A command's Settings are a dataclass of such groups; `group` puts one in, with the defaults that are
the command's own:

    training: Training = group(Training, learning_rate=1e-4)

`essential: ClassVar[tuple[str, ...]]` of Settings names the flags that most people need: --help
shows them, --helpfull all.

The parser, --help, flags.txt, the manifest of a run and what later runs remember are derived from
these fields alone.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar


@dataclasses.dataclass(frozen=True)
class Option:
    """The properties of a flag other than its type and default.

    help: its first clause, up to "; ", is what --help shows, so it says what the flag sets;
    --helpfull shows the whole.
    lower, upper: bounds, both allowed. choices: the values of an enumeration. decides: another
    value makes another result of training, so it belongs to the manifest. remembered: a run that
    does not train takes it from the flags.txt of the run that did. path: is made absolute in
    flags.txt. passing: is left out of flags.txt, as it is about one run only. ignored: is accepted
    for Google's commands, without effect. may_be_empty: scripts pass it on empty where it is not
    used. read: text of the flag -> value, with InputError; write: the way back, for flags.txt.
    flag: its name where it is not the field's. words: it takes the words of the command line that
    are no flags. file: it is the name of a file or a folder, as is each that is a path or ends in
    _file or _dir. usual: values that completion offers, where others are right as well; of a path,
    words that are none. grid: a number of which a list may be given, with commas between; the field
    is then a tuple of them until runs.sweep.sweep has made a run of each. alone: the value of a
    text flag that the command line gives without one. once: the flag cannot be given twice, and
    what to do instead; "": the last value counts. repeated: all values count; `read` gets them as
    lines. csv_quotes: quotes belong to names in the value, as in CSV.
    """

    help: str
    lower: float | None = None
    upper: float | None = None
    choices: tuple[str, ...] | None = None
    decides: bool = False
    remembered: bool = False
    path: bool = False
    passing: bool = False
    ignored: bool = False
    may_be_empty: bool = False
    read: Callable[[str], Any] | None = None
    write: Callable[[Any], str] | None = None
    flag: str | None = None
    words: bool = False
    file: bool = False
    usual: tuple[str, ...] = ()
    grid: bool = False
    alone: str | None = None
    once: str = ""
    repeated: bool = False
    csv_quotes: bool = False


def option(default: Any, help: str, **facts: Any) -> Any:
    """A field of a group; `facts` as Option has them."""
    return dataclasses.field(default=default, metadata={"option": Option(help, **facts)})


# The facts that most options have: see Option.
deciding = functools.partial(option, decides=True)
remembered = functools.partial(option, remembered=True)
passing = functools.partial(option, passing=True)


@typing.dataclass_transform(frozen_default=True)
class FlagGroup:
    """A group of flags: each subclass is a frozen dataclass of options. heading: of its flags in
    --help.
    """

    heading: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __init_subclass__(cls, heading: str):
        # A subclass has its annotations by now, so it becomes a dataclass without a decorator of
        # its own.
        cls.heading = heading
        dataclasses.dataclass(frozen=True)(cls)


def group(
    kind: type[FlagGroup],
    own: dict[str, str | dict[str, Any]] | None = None,
    *,
    only: Collection[str] | None = None,
    without: Collection[str] = (),
    after: str | None = None,
    **defaults: Any,
) -> Any:
    """A group as a field of a command's Settings, with the command's own defaults.

    own: for a field the command's own words of help, or other facts of Option, such as {"lower":
    1}. only, without: the fields of the group that are flags of the command, or are none of its
    flags; these keep their defaults. after: the flag that the flags of this group follow, where
    that is not the last one of the groups before.
    """
    options = {field.name: field.metadata["option"] for field in dataclasses.fields(kind)}
    if unknown := {*(own or ()), *(only or ()), *without}.difference(options):
        raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
    for name, facts in (own or {}).items():
        options[name] = dataclasses.replace(options[name], **({"help": facts} if isinstance(facts, str) else facts))
    flags = {name: options[name] for name in options if name not in without and (only is None or name in only)}
    return dataclasses.field(default_factory=lambda: kind(**defaults), metadata={"options": flags, "after": after})


@dataclasses.dataclass(frozen=True)
class Flag:
    """One flag of a command: `name` on the command line, `field` of the group that Settings call
    `group`; heading: in --help; kind: bool, int, float or str, the type of its value.
    """

    name: str
    heading: str
    group: str
    field: str
    kind: type
    default: Any
    option: Option

    @property
    def is_file(self) -> bool:
        """Whether it is the name of a file or a folder."""
        named = self.option.file or self.option.path or self.name.endswith(("_file", "_dir"))
        return named and self.kind is str

    @property
    def is_free_text(self) -> bool:
        """Whether any characters may be in the value: it is no file, no number and no choice."""
        option = self.option
        return self.kind is str and not (self.is_file or option.choices or option.usual or option.read)


def flag_named(argument: str, known: Mapping[str, Flag]) -> Flag | None:
    """Return the flag of an argument such as --name, --noname or --name=value; None for another argument."""
    name = argument.lstrip("-").partition("=")[0]
    return known.get(name) or known.get(name.removeprefix("no"))


def every_flag(settings_class: type) -> list[Flag]:
    """All flags of a command in the order of flags.txt: of its Settings' own groups, then of the
    groups that they inherit.
    """
    found: list[Flag] = []
    defaults = settings_class()
    classes = typing.get_type_hints(settings_class)
    base = settings_class.__base__
    inherited = {each.name for each in dataclasses.fields(base)} if dataclasses.is_dataclass(base) else set()
    # A dataclass has inherited fields first, but --help begins with what is particular to a
    # command. Groups that follow a flag of another group come last, when that flag is in the list.
    groups = dataclasses.fields(settings_class)
    for each in sorted(groups, key=lambda each: (each.metadata["after"] is not None, each.name in inherited)):
        kind = classes[each.name]
        values = getattr(defaults, each.name)
        after = each.metadata["after"]
        types_of = typing.get_type_hints(kind)
        # Groups are merged by topic, and flags.txt keeps the order that it had before: so a group
        # may be inside another one.
        end = [flag.name for flag in found].index(after) + 1 if after else len(found)
        found[end:end] = [
            Flag(known.flag or name, kind.heading, each.name, name, _kind(types_of[name]), getattr(values, name), known)
            for name, known in each.metadata["options"].items()
        ]
    return found


def essential_flags(settings_class: type) -> list[Flag]:
    """The flags that --help shows: those that `essential` of the Settings names, or all that have
    an effect without it.
    """
    flags = every_flag(settings_class)
    essential: tuple[str, ...] = getattr(settings_class, "essential", ())
    if unknown := set(essential).difference(flag.name for flag in flags):
        raise TypeError(f"{settings_class.__name__}.essential names no flag: {', '.join(sorted(unknown))}")
    return [flag for flag in flags if (flag.name in essential if essential else not flag.option.ignored)]


def _kind(annotation: Any) -> type:
    """bool, int or float; str for text on the command line, whatever Option.read makes of it."""
    options = typing.get_args(annotation) if isinstance(annotation, types.UnionType) else (annotation,)
    return next((kind for kind in (bool, int, float) if kind in options), str)


def build(settings_class: type, values: dict[str, Any]) -> Any:
    """Settings from values by the names of flags; others have the command's default."""
    return changed(settings_class(), values)


def changed(settings: Any, values: dict[str, Any]) -> Any:
    """A command's Settings with other values of some flags, by name."""
    changes: dict[str, dict[str, Any]] = {}
    known = {flag.name: flag for flag in every_flag(type(settings))}
    for name, value in values.items():
        flag = known[name]
        changes.setdefault(flag.group, {})[flag.field] = value
    replaced = {place: dataclasses.replace(getattr(settings, place), **fields) for place, fields in changes.items()}
    return dataclasses.replace(settings, **replaced)


def lists_of(settings: Any) -> dict[str, tuple]:
    """The flags of which lists were given, by name, in their order."""
    values = values_of(settings)
    grids = (flag.name for flag in every_flag(type(settings)) if flag.option.grid)
    return {name: values[name] for name in grids if isinstance(values[name], tuple)}


def values_of(settings: Any) -> dict[str, Any]:
    """The values of all flags of a command's Settings, by name; those without effect are left out."""
    flags = every_flag(type(settings))
    return {flag.name: getattr(getattr(settings, flag.group), flag.field) for flag in flags if not flag.option.ignored}


def deciding_values(settings: Any) -> dict[str, Any]:
    """The values of all flags that decide the result of training."""
    values = values_of(settings)
    return {flag.name: values[flag.name] for flag in every_flag(type(settings)) if flag.option.decides}
