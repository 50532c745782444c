"""Size and time of an installation with pip, compared with other programs.

    make distributions
    python -m benchmarks.install --rounds=3

Each program is installed into an empty environment, which is removed afterwards. The table has the number
of packages, megabytes on the disk (10^6 bytes), and wall and processor seconds of `pip install`, as medians
over the rounds. pip compiles the modules, as it does by default, and all figures include that. An unmeasured
download fills pip's cache first, so the seconds depend on the disk and the processor, not on the network.
"""

import argparse
import dataclasses
import json
import pathlib
import re
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.processes import run

# Name -> requirements. Those with a distribution of ours get its wheel, see `with_wheels`.
PROGRAMS: Mapping[str, Sequence[str]] = {
    "bert_cli": ["bert_cli"],
    "bert_cli[serve]": ["bert_cli[serve]"],
    "bert_cli_light": ["bert_cli_light"],
    "transformers[torch]": ["transformers[torch]"],
    "keras-hub": ["keras-hub", "tensorflow"],
}


@dataclasses.dataclass(frozen=True)
class Installation:
    """Figures of one installation.

    Attributes:
        packages: number of packages, without those of an empty environment.
        megabytes: size on the disk, without that of an empty environment.
        seconds: duration of `pip install`.
        cpu_seconds: its processor time, user and system.
    """

    packages: int
    megabytes: float
    seconds: float
    cpu_seconds: float


def with_wheels(requirements: Sequence[str], folder: pathlib.Path) -> list[str]:
    """Return requirements with our distributions as wheels of a directory; raise FileNotFoundError without a wheel."""
    replaced = []
    for requirement in requirements:
        name, extras = re.fullmatch(r"([\w-]+)(.*)", requirement).groups()
        if name in ("bert_cli", "bert_cli_light"):
            wheels = sorted(folder.glob(f"{name}-*.whl"))
            if not wheels:
                raise FileNotFoundError(f"{folder} has no wheel of {name}: run make distributions, or give --dist")
            requirement = f"{name}{extras} @ {wheels[-1].resolve().as_uri()}"
        replaced.append(requirement)
    return replaced


def size_on_disk(folder: pathlib.Path) -> int:
    """Return the bytes that the files of a directory take on the disk."""
    return sum(512 * path.lstat().st_blocks for path in folder.rglob("*") if not path.is_dir())


def _count_packages(environment: pathlib.Path) -> int:
    return len(list(environment.glob("lib/python*/site-packages/*.dist-info")))


def install(requirements: Sequence[str], python: str, flags: Sequence[str] = ()) -> Installation:
    """Install requirements into an empty environment, and remove it.

    Args:
        requirements: arguments of `pip install`.
        python: interpreter for the environment.
        flags: more flags for pip.
    """
    with tempfile.TemporaryDirectory() as folder:
        environment = pathlib.Path(folder) / "environment"
        run([python, "-m", "venv", str(environment)], "venv")
        bytes_before, packages_before = size_on_disk(environment), _count_packages(environment)
        # -I: packages of the working directory or of PYTHONPATH are not in this environment.
        pip = [str(environment / "bin" / "python"), "-I", "-m", "pip", "--disable-pip-version-check"]
        finished = run([*pip, "install", "--quiet", *flags, *requirements], "pip")
        return Installation(
            _count_packages(environment) - packages_before,
            (size_on_disk(environment) - bytes_before) / 1e6,
            finished.seconds,
            finished.cpu_seconds,
        )


def fill_cache(requirements: Sequence[str], python: str, flags: Sequence[str] = ()) -> None:
    """Download requirements, so that pip's cache has them; see `install` for the arguments."""
    with tempfile.TemporaryDirectory() as folder:
        run([python, "-m", "pip", "download", "--quiet", "--dest", folder, *flags, *requirements], "pip")


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1, help="installations per program (default: 1)")
    parser.add_argument("--only", default=",".join(PROGRAMS), help="programs with commas: " + ", ".join(PROGRAMS))
    parser.add_argument("--dist", type=pathlib.Path, default=pathlib.Path("dist"), help="directory with our wheels")
    parser.add_argument("--python", default=sys.executable, help="interpreter for the environments")
    parser.add_argument(
        "--pip_flag", action="append", default=[], help="flag for pip, such as --pip_flag=--index-url=URL"
    )
    parser.add_argument("--json", help="file for all figures, a line per installation")
    settings = parser.parse_args(arguments)
    if settings.rounds < 1:
        parser.error(f"--rounds={settings.rounds}: at least 1 is needed")
    unknown = sorted(set(settings.only.split(",")) - set(PROGRAMS))
    if unknown:
        parser.error(f"--only: unknown program {unknown[0]!r}; known: {', '.join(PROGRAMS)}")
    settings.requirements = {}
    for name in settings.only.split(","):
        try:
            settings.requirements[name] = with_wheels(PROGRAMS[name], settings.dist)
        except FileNotFoundError as error:
            parser.error(str(error))
    return settings


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    settings = parse_arguments(arguments)
    installations: dict[str, list[Installation]] = {name: [] for name in settings.requirements}
    for requirements in settings.requirements.values():
        fill_cache(requirements, settings.python, settings.pip_flag)
    for _ in range(settings.rounds):
        for name, requirements in settings.requirements.items():
            installation = install(requirements, settings.python, settings.pip_flag)
            installations[name].append(installation)
            if settings.json:
                with open(settings.json, "a", encoding="utf-8") as file:
                    print(json.dumps({"program": name, **dataclasses.asdict(installation)}), file=file)
    table = Table("program", "packages", "MB", "seconds", "CPU seconds")
    for name, figures in installations.items():
        medians = [statistics.median(column) for column in zip(*map(dataclasses.astuple, figures), strict=True)]
        # A name such as bert_cli[serve] is no markup.
        table.add_row(escape(name), *(f"{value:,.0f}" for value in medians))
    Console().print(table)


if __name__ == "__main__":
    main()
