"""Flags as fields of groups: the flags of Settings, and one declaration per flag."""

import dataclasses
import importlib
import pkgutil
from collections import Counter

import pytest

from bert_cli import settings
from bert_cli.flags.option import (
    FlagGroup,
    build,
    deciding_values,
    every_flag,
    flag_values,
    group,
    option,
    prediction_values,
)  # fmt: skip
from bert_cli.settings.classification import ClassifySettings
from tests.docs_pages import COMMANDS, settings_of
from tests.snapshots import raises

SETTINGS = [settings_of(command) for command in COMMANDS]


class Source(FlagGroup, heading="From where"):
    """Fields and a docstring, which is not the heading."""

    path: str | None = option(None, "a file", path=True, flag="from")
    master: str | None = option(None, "of no effect", ignored=True)


class Rates(FlagGroup, heading="Rates"):
    rate: float = option(0.5, "a share", lower=0.0, upper=1.0, decides=True)
    steps: int | None = option(None, "how many", lower=1)
    fast: bool = option(False, "hurry", decides=True)


@dataclasses.dataclass(frozen=True)
class Settings:
    source: Source = group(Source)
    rates: Rates = group(Rates, {"rate": "another share", "steps": {"lower": 2}}, rate=0.25)


class Rest(FlagGroup, heading="Rates"):
    seed: int = option(3, "seed")
    workers: int = option(1, "processes")


@dataclasses.dataclass(frozen=True)
class Placed:
    rates: Rates = group(Rates, without=("fast",))
    rest: Rest = group(Rest, only=("workers",))
    source: Source = group(Source, only=())


def test_flags_of_a_command():
    flags = every_flag(Settings)
    assert [(flag.name, flag.heading, flag.group, flag.field, flag.value_type, flag.default) for flag in flags] == [
        ("from", "From where", "source", "path", str, None),
        ("master", "From where", "source", "master", str, None),
        ("rate", "Rates", "rates", "rate", float, 0.25),
        ("steps", "Rates", "rates", "steps", int, None),
        ("fast", "Rates", "rates", "fast", bool, False),
    ]
    rate, steps, _ = (flag.option for flag in flags[2:])
    assert (rate.help, rate.lower, rate.upper, rate.decides) == ("another share", 0.0, 1.0, True)
    assert (steps.help, steps.lower) == ("how many", 2)


def test_arguments_only_and_without():
    """Flags that a command lacks keep their defaults."""
    assert [flag.name for flag in every_flag(Placed)] == ["rate", "steps", "workers"]
    assert Placed() == Placed(Rates(), Rest(), Source())
    with pytest.raises(KeyError, match="fast"):
        build(Placed, {"fast": True})


def test_a_command_may_have_another_default_than_the_group():
    assert Settings().rates == Rates(0.25)
    assert Rates().rate == 0.5


def test_build_and_flag_values():
    settings = build(Settings, {"from": "a.txt", "fast": True})
    assert settings == Settings(Source("a.txt"), Rates(0.25, None, True))
    assert build(Settings, {}) == Settings()
    assert flag_values(settings) == {"from": "a.txt", "rate": 0.25, "steps": None, "fast": True}
    assert deciding_values(settings) == {"rate": 0.25, "fast": True}


def test_wrong_declarations_are_refused():
    with raises(TypeError):
        group(Rates, {"speed": "how fast"})
    for fields in ({"only": ("speed",)}, {"without": ("speed",)}):
        with raises(TypeError):
            group(Rates, **fields)
    with pytest.raises(KeyError, match="path"):
        build(Settings, {"path": "a.txt"})
    with pytest.raises(TypeError):
        option(1, "a number", lowest=0)


def groups() -> set[type[FlagGroup]]:
    """Return all groups in the directory of settings and in the commands' Settings."""
    names = [f"{settings.__name__}.{module.name}" for module in pkgutil.iter_modules(settings.__path__)]
    values = [value for name in names for value in vars(importlib.import_module(name)).values()]
    values += [type(value) for settings_class in SETTINGS for value in vars(build(settings_class, {})).values()]
    return {
        value for value in values if isinstance(value, type) and issubclass(value, FlagGroup) and value is not FlagGroup
    }


def declarations() -> list[str]:
    """Return one flag name per field and group."""
    fields = [field for group_class in groups() for field in dataclasses.fields(group_class)]
    return [field.metadata["option"].flag or field.name for field in fields]


def test_a_flag_is_declared_once():
    names = declarations()
    assert len(set(names)) > 100
    # Some names have different meanings in two commands, such as --model, --ensemble, --num_workers and
    # --explain in bert-serve, or other words in --help, such as the texts of bert-tokenize, which have no [MASK].
    # bert-serve words ten flags anew, for all models that it serves, and bert-export the four that choose
    # sentence vectors.
    # The loss of bert-train-vectors compares texts, and bert-export reads dev data for --quantize alone.
    assert len(names) - len(set(names)) <= 42


def test_groups_hold_more_than_one_flag():
    """Groups have two or more flags, except for flags that share their topic with no other."""
    assert {group_class.__name__ for group_class in groups() if len(dataclasses.fields(group_class)) < 2} == {
        "Bootstrap",
        "CustomMetrics",
        "DoctorModel",
        "KeptColumns",
        "TrainingMethod",
        "MissingLabels",
        "ReportPage",
        "Paths",
        "Processes",
        "Runs",
        "Seed",
        "TextFiles",
        "TextArguments",
        "TrainingSample",
        "TaggerModel",
    }


@pytest.mark.parametrize("settings_class", SETTINGS)
def test_flag_names_are_unique_in_a_command(settings_class):
    counts = Counter(flag.name for flag in every_flag(settings_class))
    assert [name for name, count in counts.items() if count > 1] == []


def test_every_group_belongs_to_a_command():
    used = {flag.name for settings_class in SETTINGS for flag in every_flag(settings_class)}
    assert used == set(declarations())


def test_values_that_decide_predictions_have_columns_for_tables_only():
    lines, table = (prediction_values(ClassifySettings(), has_tables) for has_tables in (False, True))
    assert set(lines) == {"max_seq_length", "long_text", "gelu", "precision", "hub_module", "encoding"}
    assert set(table) - set(lines) == {
        "task_name", "output_format", "header", "predict_header", "quoting", "sheet", "text_column", "text_b_column",
        "id_column", "choice_columns", "label_separator", "keep_columns",
    }  # fmt: skip
