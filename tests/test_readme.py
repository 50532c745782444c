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
    run_classifier,
    run_pretraining,
    run_squad,
    run_tagging,
)
from bert_cli.examples.classification import TASKS
from bert_cli.settings.option import every_flag

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
}


def known_flags() -> set[str]:
    names = {"flagfile", "help"}
    for module in COMMANDS.values():
        settings_class = next(value for name, value in vars(module).items() if name.endswith("Settings"))
        names |= {flag.name for flag in every_flag(settings_class)}
    return names


def test_every_flag_in_the_readme_exists():
    mentioned = set(re.findall(r"--([a-z][a-z0-9_]+)", README))
    assert len(mentioned) > 10
    assert mentioned <= known_flags()


def test_every_file_in_the_picture_exists():
    picture = README.split("## How it is built")[1].split("```")[1]
    for folder, names in re.findall(r"^  (\w+)/ +(.*)$", picture, re.MULTILINE):
        for name in re.findall(r"[a-z_]+", names.split("   ")[0].split(":")[0]):
            if folder != "builtin":
                assert (ROOT / "bert_cli" / folder / f"{name}.py").is_file(), f"{folder}/{name}"
    for name in re.findall(r"(\w+\.py)", picture):
        assert list((ROOT / "bert_cli").rglob(name)), name


def test_every_module_is_in_the_picture():
    picture = README.split("## How it is built")[1].split("```")[1]
    for path in (ROOT / "bert_cli").rglob("*.py"):
        if path.name != "__init__.py":
            assert re.search(rf"\b{path.stem}\b", picture), path.name


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_an_entry_point_and_in_the_readme(command):
    module = COMMANDS[command].__name__
    assert f'"{command} = {module}:main"' in (ROOT / "setup.py").read_text(encoding="utf-8")
    assert command in README


def test_no_placeholder_is_left():
    assert not re.search(r"\b[A-Z]+_(OUTPUT|TABLE)\b", README)


def test_tasks_are_named():
    assert all(task in README for task in TASKS)
