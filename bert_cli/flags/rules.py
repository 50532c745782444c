"""Rules between flags as data: the `needs`, `excludes`, `because` and `required` of an Option.

A condition is a text:

    do_train                  the flag has another value than its default
    loss=focal                the flag has this value
    output_format=npz|npy     the flag has one of these values
    weight_decay!=0.0         the flag is set, and to none of these values
    rate=LIST                 the flag has a list of numbers, see Option.grid
    a or b                    one of two conditions is enough, in `needs`
    a with b                  both conditions hold
    a with no b               the first condition holds, and the flag b has its default or does not exist

`needs` and `excludes` are a condition, a tuple of them, or a mapping from the flag's own values to
these, such as {"=npy": "pooling"}. `because` is the reason in the error message, or a mapping from
conditions to reasons.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

Conditions = str | tuple[str, ...] | Mapping[str, str | tuple[str, ...]]
LIST = "LIST"  # value in a condition
_CONDITION = re.compile(r"(no )?(\w+)(?:(!?=)(.*))?")


class Condition(NamedTuple):
    """Condition on a flag's value.

    Attributes:
        name: the flag's name.
        values: accepted values as users write them; empty for any value but the default.
        is_negated: whether `values` are the values that do not count.
        is_absent: whether the flag must have its default.
    """

    name: str
    values: tuple[str, ...] = ()
    is_negated: bool = False
    is_absent: bool = False

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """Return the condition in a text without "or" and "with"; raise TypeError for a wrong text."""
        match = _CONDITION.fullmatch(text)
        if match is None:
            raise TypeError(f"{text!r} is no condition on a flag")
        absent, name, sign, values = match.groups()
        return cls(name, tuple(values.split("|")) if sign else (), sign == "!=", bool(absent))

    @property
    def shown_values(self) -> tuple[str, ...]:
        """Return the values to show after the flag's name."""
        return () if self.is_negated else self.values

    def __str__(self) -> str:
        """Return the flag with its values, such as --output_format=npz|npy."""
        if self.shown_values == (LIST,):
            return f"a list in --{self.name}"
        if self.is_absent:
            return f"no --{self.name}"
        return f"--{self.name}" + (f"={'|'.join(self.shown_values)}" if self.shown_values else "")


class Rule(NamedTuple):
    """A flag that needs or excludes others.

    Attributes:
        owner: condition on the flag that has the rule.
        alternatives: conditions on other flags. One alternative is enough, and all of its
            conditions must hold.
        is_need: whether the owner needs the alternatives; otherwise it excludes them.
        because: reason, or "".
        text: the alternatives as declared.
    """

    owner: Condition
    alternatives: tuple[tuple[Condition, ...], ...]
    is_need: bool
    because: str
    text: str

    @property
    def others(self) -> str:
        """Return the alternatives as users write them, such as --do_eval or --cross_validation."""
        return join_or([" and ".join(map(str, conditions)) for conditions in self.alternatives])


def join_or(texts: Collection[str]) -> str:
    """Return texts joined by commas and a last "or"."""
    *first, last = texts
    return f"{', '.join(first)} or {last}" if first else last


def make_rules(
    name: str, needs: Conditions, excludes: Conditions, because: str | Mapping[str, str], names: Collection[str]
) -> Iterator[Rule]:
    """Yield a flag's rules, without conditions on flags that the command does not have.

    Args:
        needs, excludes, because: see Option.
    """
    for is_need, declared in ((True, needs), (False, excludes)):
        for own_values, texts in declared.items() if isinstance(declared, Mapping) else (("", declared),):
            for text in (texts,) if isinstance(texts, str) else texts:
                alternatives = alternatives_of(text, names)
                reason = because if isinstance(because, str) else because.get(text, "")
                if alternatives:
                    yield Rule(Condition.parse(name + own_values), alternatives, is_need, reason, text)


def alternatives_of(text: str, names: Collection[str]) -> tuple[tuple[Condition, ...], ...]:
    """Return the alternatives in a text that only use the named flags."""
    alternatives = []
    for alternative in text.split(" or "):
        conditions = map(Condition.parse, alternative.split(" with "))
        # A flag that a command does not have is absent.
        kept = tuple(condition for condition in conditions if not condition.is_absent or condition.name in names)
        alternatives += [kept] if all(condition.name in names for condition in kept) else []
    return tuple(alternatives)


def describe_rules(
    rules: Collection[Rule], required: bool | str = False, implicit_value: str | None = None
) -> list[str]:
    """Return clauses for help texts, such as "needs --do_train" or "npy: needs --pooling".

    Args:
        required, implicit_value: see Option.
    """
    clauses: dict[tuple[str, bool], list[str]] = {}
    for rule in rules:
        clauses.setdefault((_subject(rule.owner, implicit_value), rule.is_need), []).append(rule.others)
    texts = [
        f"{subject}needs {', and '.join(others)}" if is_need else f"{subject}not with {join_or(others)}"
        for (subject, is_need), others in clauses.items()
    ]
    if not required:
        return texts
    return [
        f"required unless --{str(required).removeprefix('unless ')}" if required is not True else "required",
        *texts,
    ]


def _subject(owner: Condition, implicit_value: str | None) -> str:
    """Return the values of the flag that a rule is about, for the start of a clause."""
    if implicit_value is not None and owner.values == (implicit_value,):
        return "with a value: " if owner.is_negated else "without a value: "
    if owner.is_negated:
        return "other values: "
    if owner.values == (LIST,):
        return "a list "
    return f"{', '.join(owner.values)}: " if owner.values else ""
