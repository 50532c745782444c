"""Commands as scripts in the package's directory, as in Google's README."""

import os
import shutil
import subprocess
import sys

import pytest

from bert_cli import __version__
from bert_cli.__main__ import COMMANDS
from tests.readme_blocks import ROOT

PACKAGE = ROOT / "bert_cli"
# Prints the modules that a program in this directory imports under our directories' names.
LIBRARIES = f"""
import importlib.util, sys, bert_cli, bert_cli.bert_cli
for name in ("keras", "onnx", "model", "serve"):
    spec = importlib.util.find_spec(name)
    print(name, spec is not None and str(spec.origin).startswith({str(PACKAGE)!r}))
print(bert_cli.__file__, [path for path in sys.path if path.rstrip("/") == {str(PACKAGE)!r}])
"""


def run(*command: str, folder=ROOT, **environment: str) -> str:
    """Return the output of a Python process without PYTHONPATH."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, *map(str, command)]
    done = subprocess.run(
        command, cwd=folder, env=kept | environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        (["bert_cli/run_classifier.py"], ROOT),
        (["run_squad.py"], PACKAGE),
        (["-m", "serve"], PACKAGE),
        (["../bert_cli/./create_pretraining_data.py"], PACKAGE),
        (["bert_cli", "extract-features"], ROOT),
    ],
)
def test_a_command_runs_as_a_script(command, folder):
    assert run(*command, "--version", folder=folder).split()[1:] == [__version__]


@pytest.mark.slow
@pytest.mark.parametrize("module", [module for module, _ in COMMANDS.values()])
def test_every_command_runs_as_a_script(module, tmp_path):
    assert run(PACKAGE / f"{module}.py", "--version", folder=tmp_path).split()[1:] == [__version__]


def test_a_script_through_a_link_and_a_copy(tmp_path):
    (tmp_path / "link.py").symlink_to(PACKAGE / "run_tagging.py")
    assert run(tmp_path / "link.py", "--version") == f"bert-tag {__version__}\n"
    shutil.copy(PACKAGE / "run_tagging.py", tmp_path)
    assert run(tmp_path / "run_tagging.py", "--version", PYTHONPATH=str(ROOT)) == f"bert-tag {__version__}\n"


@pytest.mark.parametrize("environment", [{}, {"PYTHONPATH": str(PACKAGE)}, {"PYTHONPATH": f"{PACKAGE}/:{ROOT}"}])
def test_package_folders_do_not_hide_libraries(environment):
    printed = run("-c", LIBRARIES, folder=PACKAGE, **environment)
    libraries, _, place = printed.rpartition("serve ")
    assert "True" not in libraries
    assert place == f"False\n{PACKAGE / '__init__.py'} []\n"
