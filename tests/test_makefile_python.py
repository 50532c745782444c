"""The Makefile finds a Python that setup.py allows before it creates .venv; interpreters are fake."""

import pathlib
import re
import shutil
import subprocess
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
SETUP = (ROOT / "setup.py").read_text(encoding="utf-8")
VERSIONS = re.findall(r"Python :: (3\.\d+)", SETUP)
RANGE = f"{VERSIONS[0]} to {VERSIONS[-1]}"
TOOLS = ("sh", "make", "awk", "cp", "df", "mkdir", "rm", "sed", "touch")
# Creates an environment with a copy of itself, and appends all other modules that it runs to the
# file "log".
PYTHON = """#!/bin/sh
case "$1 $2" in
"--version ") echo "Python {version}.4" ;;
"-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && echo "version = {version}.4" > "$3/pyvenv.cfg" ;;
*) echo "{version} $*" >> log ;;
esac
"""
UV = """#!/bin/sh
echo "uv $*" >> log
for folder; do :; done
mkdir -p "$folder/bin" && cp managed "$folder/bin/python" && echo "version_info = 3.12.4" > "$folder/pyvenv.cfg"
"""
PYENV_SHIM = "#!/bin/sh\necho 'pyenv: python3.13: command not found' >&2\nexit 127\n"
# Debian without the package python3-venv behaves like this.
WITHOUT_VENV = PYTHON.replace('echo "version = {version}.4" > "$3/pyvenv.cfg"', "exit 1")


class Outcome(NamedTuple):
    code: int
    printed: str
    errors: str
    log: list[str]  # arguments that fake programs got


class Clone:
    """A clone on a computer that only has the given programs."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder / "clone"
        self.programs = folder / "bin"
        self.folder.mkdir()
        self.programs.mkdir()
        for name in ("Makefile", "setup.py"):
            shutil.copy(ROOT / name, self.folder)
        for name in TOOLS:
            (self.programs / name).symlink_to(shutil.which(name))

    def add(self, **versions: str) -> None:
        """Install fake interpreters: add(python3="3.10", python3_12="3.12")."""
        for name, version in versions.items():
            self.add_program(name.replace("_", "."), PYTHON.format(version=version))

    def add_program(self, name: str, text: str) -> None:
        write_program(self.programs / name, text)

    def add_environment(self, version: str, folder: str = ".venv", runs: str | None = None) -> pathlib.Path:
        """Create an environment with a user's file in it.

        Args:
            version: Python version that created it.
            folder: its directory.
            runs: Python version that it runs after a system upgrade; None for no upgrade.
        """
        environment = self.folder / folder
        (environment / "bin").mkdir(parents=True)
        write_program(environment / "bin" / "python", PYTHON.format(version=runs or version))
        (environment / "pyvenv.cfg").write_text(f"version = {version}.4\n")
        (environment / "old").touch()
        return environment

    def make(self, *words: str) -> Outcome:
        environment = {"PATH": str(self.programs)}
        done = subprocess.run(
            ["make", *words], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        log = self.folder / "log"
        return Outcome(done.returncode, done.stdout, done.stderr, log.read_text().splitlines() if log.exists() else [])

    def version(self, folder: str = ".venv") -> str | None:
        """Return the Python version that created an environment, or None without an environment."""
        config = self.folder / folder / "pyvenv.cfg"
        return re.search(r"= (3\.\d+)", config.read_text())[1] if config.exists() else None


def write_program(path: pathlib.Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


def installs(version: str) -> str:
    return f"{version} -m pip install --quiet --editable ."


def test_python3_is_used_if_it_fits(clone):
    clone.add(python3="3.12", python3_13="3.13")
    outcome = clone.make("install")
    assert outcome.printed.startswith(f"bert_cli needs Python {RANGE}: python3 fits\n")
    assert (outcome.code, clone.version(), outcome.log) == (0, "3.12", [installs("3.12")])
    assert "fits" not in clone.make("install").printed


@pytest.mark.parametrize("python3", ["3.10", "3.14", "3.9", None])
def test_another_python_is_used_if_python3_does_not_fit(clone, python3):
    clone.add(**({"python3": python3} if python3 else {}), python3_12="3.12", python3_11="3.11")
    outcome = clone.make("install")
    assert outcome.printed.startswith(f"bert_cli needs Python {RANGE}: python3.12 fits\n")
    assert (outcome.code, clone.version(), outcome.log) == (0, "3.12", [installs("3.12")])


def test_a_command_that_does_not_run_is_skipped(clone):
    clone.add(python3="3.10", python3_11="3.11")
    clone.add_program("python3.13", PYENV_SHIM)
    assert clone.make("install").code == 0
    assert clone.version() == "3.11"


@pytest.mark.parametrize(
    ("python3", "reason"), [("3.14", "python3 is Python 3.14"), (None, "python3 is no Python 3 that runs")]
)
def test_nothing_is_created_without_a_suitable_python(clone, python3, reason):
    clone.add(**({"python3": python3} if python3 else {}))
    outcome = clone.make("test")
    assert outcome.code != 0
    assert outcome.errors.startswith(
        f"{reason}, but bert_cli needs {RANGE}: install one of these, or uv, or give PYTHON=path/to/python\n"
    )
    assert (outcome.printed, outcome.log, clone.version()) == ("", [], None)


def test_uv_is_used_if_no_python_fits(clone):
    clone.add(python3="3.14")
    clone.add_program("uv", UV)
    write_program(clone.folder / "managed", PYTHON.format(version="3.12"))
    outcome = clone.make("install")
    assert outcome.printed.startswith(f"bert_cli needs Python {RANGE}: uv finds or downloads one\n")
    requires = re.search('python_requires="(.+)"', SETUP)[1]
    assert outcome.log == [f"uv venv --quiet --seed --python {requires} .venv", installs("3.12")]


def test_uv_is_not_used_if_a_python_fits(clone):
    clone.add(python3="3.10", python3_11="3.11")
    clone.add_program("uv", UV)
    assert clone.make("install").log == [installs("3.11")]


@pytest.mark.parametrize("minor", range(9, 17))
def test_versions_agree_with_setup_py(clone, minor):
    clone.add(python3=f"3.{minor}")
    assert (clone.make("install").code == 0) == (f"3.{minor}" in VERSIONS)


@pytest.mark.parametrize(("version", "runs"), [("3.10", None), ("3.14", None), ("3.12", "3.13"), ("3.12", "3.14")])
@pytest.mark.parametrize("installed", [False, True])
def test_an_environment_that_does_not_fit_is_replaced(clone, version, runs, installed):
    """The last two environments were created before a system upgrade."""
    clone.add(python3="3.11")
    environment = clone.add_environment(version, runs=runs)
    if installed:
        (environment / ".installed").touch()
    outcome = clone.make("install")
    assert outcome.printed.startswith(
        f"bert_cli needs Python {RANGE}: python3 fits; .venv of Python {version} is replaced\nrm -rf .venv\n"
    )
    assert (outcome.code, clone.version(), outcome.log) == (0, "3.11", [installs("3.11")])
    assert not (environment / "old").exists()


def test_an_environment_with_a_missing_python_is_replaced(clone):
    clone.add(python3="3.12")
    environment = clone.add_environment("3.11")
    (environment / ".installed").touch()
    (environment / "bin" / "python").unlink()
    (environment / "bin" / "python").symlink_to("python3.11")
    assert clone.make("install").log == [installs("3.12")]
    assert clone.version() == "3.12"


def test_a_suitable_environment_is_kept(clone):
    clone.add(python3="3.12")
    environment = clone.add_environment("3.11")
    assert clone.make("install").log == [installs("3.11")]
    assert (environment / "old").exists()


@pytest.mark.parametrize("python", ["python3.13", "../with blank/python"])
def test_the_given_python_is_used(clone, python):
    clone.add(python3="3.12", python3_13="3.13")
    (clone.folder.parent / "with blank").mkdir()
    write_program(clone.folder.parent / "with blank" / "python", PYTHON.format(version="3.13"))
    clone.make("install")
    assert clone.version() == "3.12"
    outcome = clone.make("install", f"PYTHON={python}")
    assert outcome.printed.startswith(
        f"bert_cli needs Python {RANGE}: {python} fits; .venv of Python 3.12 is replaced\n"
    )
    assert (clone.version(), outcome.log) == ("3.13", [installs("3.12"), installs("3.13")])
    assert clone.make("install", f"PYTHON={python}").log == outcome.log


@pytest.mark.parametrize(
    ("python", "is_what"),
    [("python3.10", "is Python 3.10"), ("python3.14", "is Python 3.14"), ("python3.11", "is no Python 3 that runs")],
)
@pytest.mark.parametrize("environment", [None, "3.12", "3.10"])
def test_a_given_python_that_does_not_fit_is_refused(clone, python, is_what, environment):
    """An existing environment is kept, whether it fits or not."""
    clone.add(python3="3.12", python3_10="3.10", python3_14="3.14")
    if environment:
        clone.add_environment(environment)
    outcome = clone.make("install", f"PYTHON={python}")
    assert outcome.code != 0
    assert outcome.errors.startswith(
        f"PYTHON={python} {is_what}, but bert_cli needs {RANGE}: give another one, or leave it out\n"
    )
    assert (outcome.printed, outcome.log, clone.version()) == ("", [], environment)


def test_an_environment_with_another_name_is_not_removed(clone):
    clone.add(python3="3.12")
    environment = clone.add_environment("3.10", folder="mine")
    outcome = clone.make("install", "VENV=mine")
    assert outcome.code != 0
    assert outcome.errors.startswith(f"mine is not of Python {RANGE}: remove it, or give another VENV=\n")
    assert (environment / "old").exists()


def test_an_incomplete_environment_is_removed(clone):
    """Otherwise the next call would use it."""
    clone.add_program("python3", WITHOUT_VENV.format(version="3.12"))
    assert clone.make("install").code != 0
    assert not (clone.folder / ".venv").exists()


def test_test_pythons_tests_each_installed_python_and_the_lowest_packages(clone):
    clone.add(python3="3.11", python3_11="3.11", python3_13="3.13", python3_14="3.14")
    outcome = clone.make("test-pythons")
    assert outcome.code == 0, outcome.errors
    environments = [re.search(r"(?<=into )\.venv\S*(?=:)", line) for line in outcome.printed.splitlines()]
    assert [match[0] for match in environments if match] == [".venv-3.13", ".venv-3.11", ".venv-lowest"]
    assert [clone.version(folder) for folder in (".venv-3.13", ".venv-3.11", ".venv-lowest", ".venv")] == [
        "3.13", "3.11", "3.11", None,
    ]  # fmt: skip
    install, tests = "-m pip install --quiet --editable .[dev]", "-m pytest"
    lowest = "--python .venv-lowest/bin/python --upgrade --resolution lowest-direct --editable .[dev]"
    assert [line.partition(" -n 2")[0] for line in outcome.log] == [
        f"3.13 {install}", f"3.13 {tests}", f"3.11 {install}", f"3.11 {tests}",
        "3.11 -m pip install --quiet uv", f"3.11 -m uv pip install --quiet {lowest}", f"3.11 {tests}",
    ]  # fmt: skip
    assert outcome.printed.endswith(
        "ran the tests on Python 3.13 3.11, and with the lowest versions on 3.11\nnot installed: 3.12\n"
    )


def test_test_pythons_needs_no_versioned_python(clone):
    clone.add(python3="3.12")
    outcome = clone.make("test-pythons")
    assert outcome.code == 0, outcome.errors
    assert clone.version(".venv-lowest") == "3.12"


def test_the_tests_do_not_see_the_variables_of_make(clone):
    """The tests run make themselves; with VENV= they would look for commands in the wrong place."""
    clone.add_program("python3", PYTHON.format(version="3.12").replace('$*"', '$* $PYTHON$VENV$LOWEST$MAKEFLAGS."'))
    outcome = clone.make("test", "VENV=.venv-mine", "PYTHON=python3", "LOWEST=yes")
    assert outcome.log[-1].startswith("3.12 -m pytest")
    assert outcome.log[-1].endswith("-m not slow .")


def test_clean_removes_all_environments(clone):
    for folder in (".venv", ".venv-3.13", ".venv-lowest"):
        clone.add_environment("3.13", folder)
    (clone.folder / "bert_output").mkdir()
    (clone.programs / "find").symlink_to(shutil.which("find"))
    assert clone.make("clean").code == 0
    assert list(clone.folder.glob(".venv*")) == []
