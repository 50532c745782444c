"""`pip install -e .`: the package is found everywhere, also above a clone with the package's name."""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import pytest

from bert_cli import __version__

ROOT = pathlib.Path(__file__).resolve().parents[1]


def python(*words: str, folder: pathlib.Path) -> str:
    """Run this Python without site-packages, and return its standard output."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-S", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install a clone as pip unpacks an editable install's wheel.

    Returns:
        The directory that contains a clone named bert_cli, and site-packages.
    """
    above = tmp_path_factory.mktemp("above")
    clone, site = above / "bert_cli", above / "site"
    clone.mkdir()
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, clone)
    shutil.copytree(
        ROOT / "bert_cli", clone / "bert_cli", ignore=shutil.ignore_patterns("__pycache__", "*.safetensors")
    )
    script = f"from setuptools.build_meta import build_editable; build_editable({str(above)!r})"
    subprocess.run([sys.executable, "-c", script], cwd=clone, check=True, capture_output=True)
    (wheel,) = above.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return above, site


def test_editable_install_is_a_path_file(installed):
    """An import hook would only be asked after all directories."""
    above, site = installed
    (path_file,) = site.glob("*.pth")
    assert path_file.read_text(encoding="utf-8").strip() == str(above / "bert_cli")
    assert list(site.glob("*finder*")) == []


@pytest.mark.parametrize("place", ["", "bert_cli", "bert_cli/bert_cli/base"])
def test_package_is_found_above_the_clone_and_in_it(installed, place):
    above, site = installed
    add = f"import site; site.addsitedir({str(site)!r})"
    module_path = python("-c", f"{add}; import bert_cli; print(bert_cli.__file__)", folder=above / place)
    assert pathlib.Path(module_path) == above / "bert_cli" / "bert_cli" / "__init__.py"
    run = (
        f"{add}; import runpy, sys; sys.argv = ['bert', '--version']; runpy.run_module('bert_cli', run_name='__main__')"
    )
    assert python("-c", run, folder=above / place) == f"bert_cli {__version__}"
