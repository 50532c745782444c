"""Flags for new texts have the defaults and choices that commands use."""

import pytest

from bert_cli.flags.option import every_flag, flag_values
from bert_cli.predicting.opening import (
    AnswererSettings,
    ClassifierSettings,
    MaskFillerSettings,
    TaggerSettings,
    VectorSettings,
    select_groups,
)
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.squad import SquadSettings
from bert_cli.settings.tagging import TagSettings
from bert_cli.settings.texts import ExtractSettings, FillMaskSettings

PAIRS = [
    (ClassifierSettings, ClassifySettings),
    (TaggerSettings, TagSettings),
    (AnswererSettings, SquadSettings),
    (MaskFillerSettings, FillMaskSettings),
    (VectorSettings, ExtractSettings),
]


@pytest.mark.parametrize(("small", "command"), PAIRS)
def test_flags_are_those_of_the_command(small, command):
    command_flags = {flag.name: flag for flag in every_flag(command)}
    for flag in every_flag(small):
        # A server always passes the precision, which bert-extract-features has another default for.
        if flag.name == "precision":
            continue
        expected = command_flags[flag.name]
        facts = (flag.default, flag.option.remembered, flag.option.choices)
        assert facts == (expected.default, expected.option.remembered, expected.option.choices), flag.name


@pytest.mark.parametrize(("small", "command"), PAIRS)
def test_groups_of_a_command(small, command):
    settings = command()
    values = flag_values(settings)
    selected = flag_values(select_groups(small, settings))
    assert selected == {name: values[name] for name in selected}
