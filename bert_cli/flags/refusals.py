"""Errors for flags that cannot be combined, from the rules that the flags declare."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from bert_cli.base.errors import InputError
from bert_cli.flags.option import Flag, every_flag
from bert_cli.flags.rules import LIST, Condition, Rule, alternatives_of, join_or
from bert_cli.flags.values import format_flag_value


class Refusal(NamedTuple):
    """Reason to refuse a command line.

    Attributes:
        message: the error message.
        rule: the broken rule; None for a missing flag and for conflicting modes.
    """

    message: str
    rule: Rule | None = None


class FlagValue(NamedTuple):
    """A flag and its value."""

    flag: Flag
    value: Any

    def meets(self, condition: Condition) -> bool:
        """Return whether a condition on this flag holds."""
        is_set = self.value != self.flag.default
        if condition.is_absent:
            return not is_set
        if not condition.values:
            return is_set
        if condition.values == (LIST,):
            return isinstance(self.value, tuple)
        is_listed = self.value is not None and format_flag_value(self.flag, self.value) in condition.values
        return is_set and not is_listed if condition.is_negated else is_listed

    def describe(self, condition: Condition) -> str:
        """Return the flag, with its value if the condition names values."""
        if len(condition.shown_values) > 1:
            condition = condition._replace(values=(format_flag_value(self.flag, self.value),))
        return self.flag.label if self.flag.option.words and not condition.is_absent else str(condition)


FlagValues = Mapping[str, FlagValue]


def check_rules(settings: Any, is_complete: bool = True) -> None:
    """Raise InputError for the first rule that flag values break.

    Args:
        is_complete: whether the training run's values are already in `settings`. Before that, a
            flag may need another one that will come from there.
    """
    for refusal in refusals(settings, is_complete):
        raise InputError(refusal.message)


def check_needs(settings: Any, given_names: Collection[str]) -> None:
    """Raise InputError if a given flag needs another one, which the training run did not have.

    Other rules were checked before, and may be broken now: a given flag may replace a remembered
    one that it excludes, or that another remembered one needs.
    """
    for refusal in refusals(settings):
        if refusal.rule and refusal.rule.is_need and refusal.rule.owner.name in given_names:
            raise InputError(refusal.message)


def refusals(settings: Any, is_complete: bool = True) -> Iterator[Refusal]:
    """Yield all reasons to refuse flag values; see `check_rules`."""
    values = _flag_values(settings)
    yield from _mode_refusals(getattr(settings, "modes", ()), values)
    for name, (flag, value) in values.items():
        if flag.option.required and value in (None, "", ()) and not _is_excepted(flag, values):
            yield Refusal(f"{flag.label} is needed: {flag.option.help.partition('; ')[0]}; see --help")
        for rule in flag.rules:
            may_follow = not is_complete and rule.is_need and _is_remembered(rule, values)
            if values[name].meets(rule.owner) and rule.is_need != _holds(rule.alternatives, values) and not may_follow:
                yield Refusal(_message(rule, values), rule)


def first_excluded(settings: Any, name: str) -> str:
    """Return the first flag that is set and excluded by the flag `name`, or "".

    The flag `name` itself need not be set.
    """
    values = _flag_values(settings)
    rules = (rule for rule in values[name].flag.rules if not rule.is_need)
    return next((_describe(rule, values) for rule in rules if _holds(rule.alternatives, values)), "")


def _flag_values(settings: Any) -> FlagValues:
    flags = every_flag(type(settings))
    return {flag.name: FlagValue(flag, getattr(getattr(settings, flag.group), flag.field)) for flag in flags}


def _mode_refusals(modes: tuple[str, ...], values: FlagValues) -> Iterator[Refusal]:
    """Yield a refusal unless exactly one mode is chosen; a mode is a text with "or"."""
    alternatives = [alternatives_of(mode, values) for mode in modes]
    chosen = [
        next(values[condition.name].flag.label for (condition,) in mode if values[condition.name].meets(condition))
        for mode in alternatives
        if _holds(mode, values)
    ]
    if modes and not chosen:
        names = [join_or([values[condition.name].flag.label for (condition,) in mode]) for mode in alternatives]
        yield Refusal(f"nothing to do: give {', or '.join(names)}; see --help")
    if len(chosen) > 1:
        yield Refusal(f"{chosen[0]} and {chosen[1]} cannot be combined: give one command for each")


def _holds(alternatives: tuple[tuple[Condition, ...], ...], values: FlagValues) -> bool:
    return any(all(values[condition.name].meets(condition) for condition in conditions) for conditions in alternatives)


def _is_excepted(flag: Flag, values: FlagValues) -> bool:
    """Return whether a required flag is not needed, as in required="unless extend"."""
    exception = str(flag.option.required).removeprefix("unless ")
    return exception in values and _holds(alternatives_of(exception, values), values)


def _is_remembered(rule: Rule, values: FlagValues) -> bool:
    return any(values[condition.name].flag.option.remembered for (condition, *_) in rule.alternatives)


def _describe(rule: Rule, values: FlagValues) -> str:
    """Return the excluded flags of a rule as they are set."""
    conditions = next(conditions for conditions in rule.alternatives if _holds((conditions,), values))
    return " with ".join(values[condition.name].describe(condition) for condition in conditions)


def _message(rule: Rule, values: FlagValues) -> str:
    owner = values[rule.owner.name].describe(rule.owner)
    reason = f": {rule.because}" if rule.because else ""
    if rule.is_need:
        return f"{owner} needs {rule.others}{reason}"
    advice = "" if ";" in rule.because else "; leave one of them out"
    return f"{owner} and {_describe(rule, values)} cannot be combined{reason}{advice}"
