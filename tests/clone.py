"""A copy of the repository as a user has it, with less data to train on, for tests that run what is printed as it is printed.

The data and the models are cut down in the copy, not the commands.
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
COPIED = ("Makefile", "setup.py", "README.md", "bert_cli", "data")


def cut(path: pathlib.Path, lines: int) -> None:
    kept = path.read_text(encoding="utf-8").splitlines(keepends=True)[:lines]
    path.write_text("".join(kept), encoding="utf-8")


def copy_repository(folder: pathlib.Path) -> None:
    """The files that a user has, less data to train on, and the commands in .venv/bin, as if they were installed."""
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
    """The commands as scripts in a new folder, as if the package were installed."""
    folder.mkdir(parents=True)
    for command, (module, _) in COMMANDS.items():
        script = f'#!/bin/sh\nexec "{sys.executable}" -m bert_cli.{module} "$@"\n'
        (folder / command).write_text(script, encoding="utf-8")
        (folder / command).chmod(stat.S_IRWXU)


def run(
    command: list[str], folder: pathlib.Path, place: str, programs: pathlib.Path | None = None, import_from: str = ""
) -> str:
    """Run a command in a folder, with its .venv/bin, or `programs`, on the PATH. Its standard output and error.

    import_from: a folder for PYTHONPATH. AssertionError where the command fails.
    """
    path = f"{programs or folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # Not what the `make` that runs these tests tells those below it.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    environment = inherited | {"PATH": path, "PYTHONPATH": import_from, "TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, f"{place}: {command}\n{done.stdout[-6000:]}"
    return done.stdout
