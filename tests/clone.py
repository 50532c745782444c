"""A user's copy of the repository, for tests that run commands exactly as printed.

The copy has less training data and smaller models; the commands are unchanged.
"""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys

from bert_cli.__main__ import COMMANDS

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Targets of make, as tests/test_clone.py runs them one after another.
TARGETS = (
    "help", "install", "quickstart", "classify", "pretrain", "tag", "squad", "features", "convert FROM=bert_output TO=hf",
    "export", "quickstart", "classify", "tag", "squad", "pretrain",
    # Second to last, because the other targets would start from the files that it writes.
    "builtin-model BUILTIN_TEXT=data/pretraining/corpus.txt BUILTIN_STEPS=4 BUILTIN_WARMUP_STEPS=1"
    " BUILTIN_FALL_STEPS=4 BUILTIN_FALL_WARMUP_STEPS=1 BUILTIN_AVERAGE=2 BUILTIN_FLAGS=--save_checkpoints_steps=2", "clean",
)  # fmt: skip
# These need tests/ or pip downloads, or, for benchmark and check-gpu, a model, a GPU and other programs.
DEVELOPER_TARGETS = {
    "lint", "check-tree", "format", "docs", "test", "test-all", "messages", "test-pythons", "benchmark", "check-gpu", "lock",
    "bills", "audit", "distributions", "release", "site",
}  # fmt: skip
COPIED = ("Makefile", "setup.py", "README.md", "bert_cli", "data")


def cut(path: pathlib.Path, lines: int) -> None:
    kept = path.read_text(encoding="utf-8").splitlines(keepends=True)[:lines]
    path.write_text("".join(kept), encoding="utf-8")


def copy_repository(folder: pathlib.Path) -> None:
    """Copy the files that a user has, with less training data, and write the commands to .venv/bin."""
    for name in COPIED:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)
    cut(folder / "data" / "train.tsv", 1000)
    cut(folder / "data" / "pretraining" / "corpus.txt", 4000)
    cut(folder / "data" / "tagging" / "train.txt", 2000)
    squad = folder / "data" / "squad" / "train.json"
    values = json.loads(squad.read_text(encoding="utf-8"))
    for article in values["data"]:
        article["paragraphs"] = article["paragraphs"][:5]
    squad.write_text(json.dumps(values), encoding="utf-8")
    config = folder / "data" / "pretraining" / "bert_config.json"
    small = {"hidden_size": 32, "intermediate_size": 64}
    config.write_text(json.dumps(json.loads(config.read_text(encoding="utf-8")) | small), encoding="utf-8")
    programs = folder / ".venv" / "bin"
    write_programs(programs)
    (programs / "python").symlink_to(sys.executable)
    (folder / ".venv" / ".installed").touch()
    (folder / "bert_output").mkdir()
    (folder / "bert_output" / ".gitkeep").touch()


def write_programs(folder: pathlib.Path) -> None:
    """Write the commands as scripts into a new directory, as if the package were installed."""
    folder.mkdir(parents=True)
    for command, (module, _) in COMMANDS.items():
        script = f'#!/bin/sh\nexec "{sys.executable}" -m bert_cli.{module} "$@"\n'
        (folder / command).write_text(script, encoding="utf-8")
        (folder / command).chmod(stat.S_IRWXU)


def run(
    command: list[str], folder: pathlib.Path, place: str, programs: pathlib.Path | None = None, import_from: str = ""
) -> str:
    """Run a command and return its standard output and error; fail if its exit code is not 0.

    Args:
        command: program and arguments.
        folder: working directory.
        place: name for messages, such as "README.md:7".
        programs: directory to prepend to PATH; None for the folder's .venv/bin.
        import_from: directory for PYTHONPATH.
    """
    path = f"{programs or folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # Do not inherit variables from a `make` that runs these tests.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    environment = inherited | {"PATH": path, "PYTHONPATH": import_from, "TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, f"{place}: {command}\n{done.stdout[-6000:]}"
    return done.stdout
