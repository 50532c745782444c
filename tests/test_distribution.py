"""Distributions: an sdist, a wheel built from it, and bert-classify from that wheel."""

import ast
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import HeaderParser

import pytest

import bert_cli
from bert_cli import __version__
from bert_cli.__main__ import COMMANDS
from tests import release

ROOT = pathlib.Path(__file__).resolve().parents[1]
SOURCES = ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md")


def package_files() -> set[str]:
    """Return the paths of all package files, relative to the repository."""
    paths = (path for path in (ROOT / "bert_cli").rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in paths if path.parent.name != "__pycache__"}


def run(*words: object, folder: pathlib.Path, **environment: str) -> str:
    """Run a program and return its standard output; fail if its exit code is not 0."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder, capture_output=True, text=True, env={**os.environ, **environment}, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_type_checkers_find_the_public_names():
    stub = ast.parse((ROOT / "bert_cli" / "__init__.pyi").read_text("utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    modules = {alias.asname: node.module for node in imports for alias in node.names}
    values = {ast.unparse(node.target): ast.unparse(node.annotation) for node in stub.body if node not in imports}
    assert values == {"__version__": "str"}
    assert {*modules, *values} == set(bert_cli.__all__)
    for name, module in modules.items():
        assert getattr(bert_cli, name) is getattr(importlib.import_module(module), name)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build an sdist from a fresh copy, and a wheel from it.

    Returns:
        The wheel's path, and the directory that it is installed in.
    """
    folder = tmp_path_factory.mktemp("build")
    fresh = folder / "fresh"
    fresh.mkdir()
    for name in SOURCES:
        shutil.copy(ROOT / name, fresh)
    shutil.copytree(ROOT / "bert_cli", fresh / "bert_cli", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs", fresh / "docs")
    sdist, wheel_path = release.build(fresh, folder, time=1_800_000_000)
    with tarfile.open(sdist) as archive:
        names = {pathlib.PurePath(name) for name in archive.getnames() if "/docs/" in name}
    assert {name.relative_to(sdist.name.removesuffix(".tar.gz")) for name in names} == {
        path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*")
    }
    target = folder / "installed"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "--no-deps", "--no-index", "--target", target, wheel_path, folder=folder)
    return wheel_path, target


@pytest.mark.slow
def test_the_wheel_is_complete(wheel):
    path, _ = wheel
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        about = f"bert_cli-{__version__}.dist-info"
        metadata = HeaderParser().parsestr(archive.read(f"{about}/METADATA").decode())
        scripts = archive.read(f"{about}/entry_points.txt").decode()
    assert {name for name in names if name.startswith("bert_cli/")} == package_files()
    assert {name.partition("/")[0] for name in names} == {"bert_cli", about}
    assert (metadata["Name"].replace("-", "_"), metadata["Version"]) == ("bert_cli", __version__)
    assert metadata["License"] == "Apache-2.0"
    assert "Typing :: Typed" in metadata.get_all("Classifier")
    assert metadata["Requires-Python"]
    assert {line.partition(" = ")[0] for line in scripts.splitlines() if " = " in line} == {"bert", *COMMANDS}


@pytest.mark.slow
def test_the_quickstart_outside_the_repository(wheel, tmp_path):
    _, target = wheel
    paths = {"PYTHONPATH": str(target)}
    path = run(sys.executable, "-c", "import bert_cli; print(bert_cli.__file__)", folder=tmp_path, **paths)
    assert pathlib.Path(path.strip()) == target / "bert_cli" / "__init__.py"
    assert run(sys.executable, "-m", "bert_cli", folder=tmp_path, **paths).startswith(f"bert_cli {__version__}")
    flags = ["--do_train", "--do_eval", "--do_predict", "--num_train_epochs=0.02"]
    run(target / "bin" / "bert-classify", "--task_name=cola", f"--data_dir={ROOT / 'data'}", *flags,
        folder=tmp_path, **paths)  # fmt: skip
    assert (tmp_path / "bert_output" / "predictions.tsv").read_text("utf-8").count("\n") == 1001
    answer = run(target / "bin" / "bert-classify", "--text", "the dog sees a cat .", folder=tmp_path, **paths)
    assert '"label"' in answer
