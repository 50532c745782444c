"""What the README says of flags and files is so."""

import pathlib
import re

import pytest

from bert_cli import (
    build_vocab,
    convert_checkpoint,
    create_pretraining_data,
    export_model,
    extract_features,
    fill_mask,
    prepare_data,
    report_runs,
    run_classifier,
    run_pretraining,
    run_squad,
    run_tagging,
)
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.data import PrepareSettings
from bert_cli.settings.option import every_flag
from bert_cli.settings.pretraining import BuildVocabSettings, CreateDataSettings, FillMaskSettings, PretrainSettings
from bert_cli.settings.reporting import ReportSettings
from bert_cli.settings.squad import SquadSettings
from bert_cli.settings.tagging import TagSettings
from bert_cli.settings.tools import ConvertSettings, ExportSettings, ExtractSettings
from tests import picture, task_table

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = {
    "bert-classify": run_classifier,
    "bert-create-pretraining-data": create_pretraining_data,
    "bert-pretrain": run_pretraining,
    "bert-build-vocab": build_vocab,
    "bert-fill-mask": fill_mask,
    "bert-squad": run_squad,
    "bert-tag": run_tagging,
    "bert-extract-features": extract_features,
    "bert-export": export_model,
    "bert-convert": convert_checkpoint,
    "bert-prepare": prepare_data,
    "bert-report": report_runs,
}
SETTINGS = (
    ClassifySettings, SquadSettings, TagSettings, BuildVocabSettings, CreateDataSettings, FillMaskSettings, PretrainSettings,
    ConvertSettings, ExportSettings, ExtractSettings, PrepareSettings, ReportSettings,
)  # fmt: skip


def known_flags() -> set[str]:
    names = {"flagfile", "help"}
    for settings_class in SETTINGS:
        names |= {flag.name for flag in every_flag(settings_class)}
    return names


def test_every_flag_in_the_readme_exists():
    mentioned = set(re.findall(r"--([a-z][a-z0-9_]+)", README))
    assert len(mentioned) > 10
    assert mentioned <= known_flags()


def test_the_picture_is_that_of_the_tree():
    """`python tests/picture.py` draws it anew."""
    assert picture.shown(README) == picture.picture()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_an_entry_point_and_in_the_readme(command):
    module = COMMANDS[command].__name__
    assert f'"{command} = {module}:main"' in (ROOT / "setup.py").read_text(encoding="utf-8")
    assert command in README


def test_no_placeholder_is_left():
    assert not re.search(r"\b[A-Z]+_(OUTPUT|TABLE)\b", README)


def test_the_table_of_tasks_is_that_of_the_package():
    """`python -m tests.task_table` prints it."""
    assert task_table.table() in README
