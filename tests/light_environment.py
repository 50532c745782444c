"""An environment with bert_cli_light, made from the installed packages that it requires."""

import importlib.metadata
import pathlib
import subprocess
import sys

from packaging.requirements import Requirement

from bert_cli import __version__
from tests.house_figures import HOUSE
from tests.tree.requirements import setup_arguments

ROOT = pathlib.Path(__file__).resolve().parents[1]


def _required(lines: list[str], names: set[str]) -> set[str]:
    """Add the distributions that requirements name, and all that these require, to `names`."""
    for requirement in map(Requirement, lines):
        is_needed = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        if is_needed and requirement.name not in names:
            names.add(requirement.name)
            _required(importlib.metadata.requires(requirement.name) or [], names)
    return names


def make_light_environment(folder: pathlib.Path) -> pathlib.Path:
    """Fill a new directory with links to the packages, and return it."""
    folder.mkdir()
    arguments = setup_arguments(HOUSE, "light")
    for name in _required(arguments["install_requires"], set()):
        distribution = importlib.metadata.distribution(name)
        for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            link = folder / top
            if not link.is_symlink():
                link.symlink_to(pathlib.Path(str(distribution.locate_file(top))))
    (folder / "bert_cli").symlink_to(ROOT / "bert_cli")
    about = folder / f"bert_cli_light-{__version__}.dist-info"
    about.mkdir()
    lines = ["Metadata-Version: 2.1", "Name: bert_cli_light", f"Version: {__version__}"]
    lines += [f"Requires-Dist: {line}" for line in arguments["install_requires"]]
    (about / "METADATA").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def run_light(environment: pathlib.Path, code: str, folder: pathlib.Path) -> subprocess.CompletedProcess:
    """Run Python code in a directory with the environment, and no other package."""
    command = [sys.executable, "-S", "-c", code]
    variables = {"PYTHONPATH": str(environment), "HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
