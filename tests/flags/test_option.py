"""Flags as fields of groups: what is derived from them, and that each of them is declared once."""

import dataclasses
from collections import Counter

import pytest

from bert_cli.flags.option import build, deciding, every_flag, flags_of, group, option, title, values_of
from bert_cli.settings import classification, groups, pretraining, squad, tagging, tools

COMMANDS = [
    classification.ClassifySettings,
    squad.SquadSettings,
    tagging.TagSettings,
    pretraining.BuildVocabSettings,
    pretraining.CreateDataSettings,
    pretraining.FillMaskSettings,
    pretraining.PretrainSettings,
    tools.ConvertSettings,
    tools.ExportSettings,
    tools.ExtractSettings,
]


@dataclasses.dataclass(frozen=True)
class Source:
    """From where. A second sentence.

    And a paragraph.
    """

    path: str | None = option(None, "a file", path=True, flag="from")
    master: str | None = option(None, "of no effect", ignored=True)


@dataclasses.dataclass(frozen=True)
class Rates:
    """Rates"""

    rate: float = option(0.5, "a share", lower=0.0, upper=1.0, decides=True)
    steps: int | None = option(None, "how many", lower=1)
    fast: bool = option(False, "hurry", decides=True)


@dataclasses.dataclass(frozen=True)
class Settings:
    source: Source = group(Source)
    rates: Rates = group(Rates, {"rate": "another share", "steps": {"lower": 2}}, rate=0.25)


def test_flags_of_a_command():
    (first, source), (second, rates) = flags_of(Settings)
    assert (first, second) == ("From where. A second sentence", "Rates")
    assert title(Rates) == "Rates"
    assert [(flag.name, flag.group, flag.field, flag.kind, flag.default) for flag in [*source, *rates]] == [
        ("from", "source", "path", str, None),
        ("master", "source", "master", str, None),
        ("rate", "rates", "rate", float, 0.25),
        ("steps", "rates", "steps", int, None),
        ("fast", "rates", "fast", bool, False),
    ]
    assert list(every_flag(Settings)) == [*source, *rates]
    rate, steps, _ = (flag.option for flag in rates)
    assert (rate.help, rate.lower, rate.upper, rate.decides) == ("another share", 0.0, 1.0, True)
    assert (steps.help, steps.lower) == ("how many", 2)


def test_a_default_of_a_command_is_not_that_of_the_group():
    assert Settings().rates == Rates(0.25)
    assert Rates().rate == 0.5


def test_build_and_values_of():
    settings = build(Settings, {"from": "a.txt", "fast": True})
    assert settings == Settings(Source("a.txt"), Rates(0.25, None, True))
    assert build(Settings, {}) == Settings()
    assert values_of(settings) == {"from": "a.txt", "rate": 0.25, "steps": None, "fast": True}
    assert deciding(settings) == {"rate": 0.25, "fast": True}


def test_mistakes_of_a_programmer():
    with pytest.raises(TypeError, match="Rates has no field speed"):
        group(Rates, {"speed": "how fast"})
    with pytest.raises(KeyError, match="path"):
        build(Settings, {"path": "a.txt"})
    with pytest.raises(TypeError):
        option(1, "a number", lowest=0)


def declarations() -> list[str]:
    """Names of flags, one for each field of each group."""
    kinds = {
        kind
        for module in (groups, pretraining, classification, squad, tagging, tools)
        for kind in vars(module).values()
        if dataclasses.is_dataclass(kind)
    }
    fields = [field for kind in kinds for field in dataclasses.fields(kind) if "option" in field.metadata]
    return [field.metadata["option"].flag or field.name for field in fields]


def test_a_flag_is_declared_once():
    names = declarations()
    assert len(set(names)) > 100
    assert len(names) - len(set(names)) <= 15


@pytest.mark.parametrize("settings_class", COMMANDS)
def test_no_name_comes_twice_in_a_command(settings_class):
    counts = Counter(flag.name for flag in every_flag(settings_class))
    assert [name for name, count in counts.items() if count > 1] == []


def test_every_group_belongs_to_a_command():
    used = {flag.name for settings_class in COMMANDS for flag in every_flag(settings_class)}
    assert used == set(declarations())
