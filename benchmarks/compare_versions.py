"""Comparison of two versions of the package: run every command with both, and compare all results.

    python -m benchmarks.compare_versions --before=OLD_CHECKOUT --after=NEW_CHECKOUT --baseline=DIR
    python -m benchmarks.compare_versions --before=OLD_CHECKOUT --after=NEW_CHECKOUT --only=tag,classify-grid,help-*

Each scenario in benchmarks/scenarios.py runs in a separate directory, with the same relative paths
in both versions, and with this interpreter. The comparison includes the exit code, standard output,
the log, every file that a command wrote, and the files that it removed. Values that differ between
any two runs (times, rates, memory, dates, processes) are masked first: see
benchmarks/compare_files.py. Each file that differs is a line: scenario and command, file,
difference. "help" marks differences in help texts, which a change may intend. They are counted
separately and do not fail, and neither do differences that match --intended, a regular expression
for "FILE: DIFFERENCE". Both versions are copied at the start, so that the checkouts may change
during the run.

--baseline=DIR stores the results of the first version. Later calls use them if neither that version
nor the scenario has changed; several processes may share the directory. Exit code: 0 if there is no
difference, else 1.
"""

import argparse
import concurrent.futures
import dataclasses
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.compare_files import compare_files
from benchmarks.scenarios import MODULES, SCENARIOS, Scenario, make_inputs

_QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
_ROOT = "root.txt"  # file in a scenario's results that names the directory used to make them
_MINUTES = 10  # time limit per command


@dataclasses.dataclass(frozen=True)
class Results:
    """Results of a scenario's commands.

    Attributes:
        folder: has one directory per command.
        root: directory that the files may mention.
        seconds: duration, 0 for stored results.
    """

    folder: pathlib.Path
    root: str
    seconds: float

    def failures(self) -> int:
        """Return how many commands failed, as only error scenarios should."""
        return sum(path.read_text(encoding="utf-8") != "0" for path in self.folder.glob("*/exit_code"))


@dataclasses.dataclass(frozen=True)
class Version:
    """A version in use: its code, the inputs, and a directory per scenario.

    Attributes:
        folder: contains these directories and `results`.
        digest: digest of code and inputs.
        store: directory that keeps results for later calls and for other processes, or None.
    """

    folder: pathlib.Path
    digest: str
    store: pathlib.Path | None = None

    def run(self, scenario: Scenario) -> Results:
        """Return a scenario's results, from the store if they are there."""
        key = json.dumps({"version": self.digest, "scenario": dataclasses.asdict(scenario)})
        stored = self.store and self.store / scenario.name / hashlib.sha256(key.encode()).hexdigest()[:16]
        if stored and stored.exists():
            return Results(stored, (stored / _ROOT).read_text(encoding="utf-8"), 0.0)
        start, folder, results = time.monotonic(), self.folder / scenario.name, self.folder / "results" / scenario.name
        for directory in (results, folder):
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir(parents=True)
        codes = [
            self._run_command(line, scenario.stdin, folder, results / f"{number:02d}-{line.split()[0]}")
            for number, line in enumerate(scenario.commands)
        ]
        (results / _ROOT).write_text(str(self.folder), encoding="utf-8")
        if stored and min(codes) >= 0:  # do not store results if a command was killed
            _keep(results, stored)
        return Results(results, str(self.folder), time.monotonic() - start)

    def _run_command(self, line: str, stdin: str, folder: pathlib.Path, results: pathlib.Path) -> int:
        """Run a command in `folder`, and keep its output, written files and removed names.

        Returns:
            The exit code, negative if a signal or the time limit ended the command.
        """
        before = _states(folder)
        results.mkdir(parents=True)
        with open(results / "stdout", "wb") as output, open(results / "stderr", "wb") as errors:
            process = subprocess.Popen(
                _arguments(line),
                cwd=folder,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=errors,
            )
            try:
                process.communicate(stdin.encode(), timeout=60 * _MINUTES)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        (results / "exit_code").write_text(str(process.returncode), encoding="utf-8")
        after = _states(folder)
        (results / "removed").write_text("\n".join(sorted(before.keys() - after.keys())), encoding="utf-8")
        for name in sorted(name for name, state in after.items() if before.get(name) != state):
            copy = results / "files" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / name, copy)
        return process.returncode

    def _environment(self) -> dict[str, str]:
        """Return the environment, without variables that change results or slow the start."""
        left_out = ("PYTHONDONTWRITEBYTECODE", "TF_CONFIG", "XLA_FLAGS", "FORCE_COLOR")
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        (self.folder / "tmp").mkdir(exist_ok=True)
        return kept | {
            "PYTHONPATH": str(self.folder / "code"),
            "TF_CPP_MIN_LOG_LEVEL": "2",
            "CUDA_VISIBLE_DEVICES": "-1",
            "COLUMNS": "120",
            "TMPDIR": str(self.folder / "tmp"),
        }


def open_version(
    checkout: pathlib.Path, data: pathlib.Path, folder: pathlib.Path, store: pathlib.Path | None = None
) -> Version:
    """Copy the package, make the inputs for all scenarios, and return the version.

    Args:
        checkout: checkout with the package.
        data: a checkout's data directory.
        folder: directory to work in.
        store: see Version.
    """
    for old in ("code", "in"):
        shutil.rmtree(folder / old, ignore_errors=True)
    shutil.copytree(
        checkout / "bert_cli", folder / "code" / "bert_cli", ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
    )
    make_inputs(data, folder / "in")
    digest = hashlib.sha256()
    for path in sorted(path for name in ("code", "in") for path in (folder / name).rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return Version(folder, digest.hexdigest(), store)


def _states(folder: pathlib.Path) -> dict[str, tuple[int, int, int]]:
    """Return each file's inode, size and time by relative path: writing changes them."""
    states = {}
    for path in folder.rglob("*"):
        if path.is_file():
            state = path.stat()
            states[str(path.relative_to(folder))] = (state.st_ino, state.st_size, state.st_mtime_ns)
    return states


def _arguments(line: str) -> list[str]:
    name, _, rest = line.partition(" ")
    if name == "python":
        return [sys.executable, "-c", rest]
    start = f"import sys; from bert_cli.{MODULES[name]} import main; sys.exit(main())"
    return [sys.executable, "-c", start, *shlex.split(rest)]


def _keep(results: pathlib.Path, stored: pathlib.Path) -> None:
    """Copy the results atomically; keep the existing ones if another process was first."""
    stored.parent.mkdir(parents=True, exist_ok=True)
    copy = pathlib.Path(tempfile.mkdtemp(dir=stored.parent, prefix="copy-"))
    shutil.copytree(results, copy, dirs_exist_ok=True)
    try:
        copy.rename(stored)
    except OSError:
        shutil.rmtree(copy)


@dataclasses.dataclass
class Comparison:
    """Differences between the results of two versions.

    Attributes:
        files: number of compared files.
        lines: one per file that differs.
        intended: number of intended differences.
    """

    files: int
    lines: list[str]
    intended: int = 0


def compare_results(before: Results, after: Results, name: str, intended: Sequence[str] = ()) -> Comparison:
    """Return one line per file that differs.

    Args:
        before: results with the first version.
        after: results with the second version.
        name: scenario name.
        intended: patterns of "FILE: DIFFERENCE" to ignore.
    """
    folders = before.folder, after.folder
    names = [
        {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {_ROOT} for folder in folders
    ]
    lines = [f"{file}: written by the first version alone" for file in sorted(names[0] - names[1])]
    lines += [f"{file}: written by the second version alone" for file in sorted(names[1] - names[0])]
    comparison = Comparison(len(names[0] | names[1]), [f"{name}: {line}" for line in lines])
    for file in sorted(names[0] & names[1]):
        differences = compare_files(folders[0] / file, folders[1] / file, (before.root, after.root))
        unintended = [
            difference
            for difference in differences
            if not any(re.search(pattern, f"{file}: {difference}") for pattern in intended)
        ]
        comparison.intended += len(differences) - len(unintended)
        more = f" (and {len(unintended) - 1} more of the file)" if len(unintended) > 1 else ""
        comparison.lines += [f"{name}: {file}: {difference}{more}" for difference in unintended[:1]]
    return comparison


def choose(only: str) -> list[Scenario]:
    """Return the scenarios with these names or patterns; exit if a name is unknown."""
    patterns = [pattern for pattern in only.split(",") if pattern]
    for pattern in patterns:
        if not any(fnmatch.fnmatch(scenario.name, pattern) for scenario in SCENARIOS):
            sys.exit(f"error: --only: {pattern} is none of {', '.join(scenario.name for scenario in SCENARIOS)}")
    return [
        scenario
        for scenario in SCENARIOS
        if not patterns or any(fnmatch.fnmatch(scenario.name, pattern) for pattern in patterns)
    ]


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare_versions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--before", type=pathlib.Path, required=True, help="checkout of the version that is right")
    parser.add_argument("--after", type=pathlib.Path, required=True, help="checkout of the version to compare with it")
    parser.add_argument("--only", default="", help="names of scenarios, or patterns, with commas between")
    parser.add_argument("--intended", action="append", default=[], help="pattern of differences that do not count")
    parser.add_argument("--baseline", type=pathlib.Path, help="folder that keeps the results of --before")
    parser.add_argument("--work", type=pathlib.Path, help="folder to work in; default: a temporary one")
    parser.add_argument("--keep", action="store_true", help="leave the work folder, to look at what differs")
    parser.add_argument("--jobs", type=int, default=2, help="commands that run at the same time")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    settings = parse_arguments(arguments)
    scenarios = choose(settings.only)
    os.environ |= _QUIET  # TensorFlow is imported to read some files
    made = settings.work is None
    work = pathlib.Path(tempfile.mkdtemp(prefix="compare-")) if made else settings.work.resolve()
    data = settings.before / "data"
    before = open_version(settings.before, data, work / "before", settings.baseline and settings.baseline.resolve())
    after = open_version(settings.after, data, work / "after")

    files, differences, helps, intended = 0, 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(settings.jobs) as pool:
        runs = {scenario: [pool.submit(version.run, scenario) for version in (before, after)] for scenario in scenarios}
        for number, scenario in enumerate(scenarios, 1):
            first, second = (run.result() for run in runs[scenario])
            comparison = compare_results(first, second, scenario.name, settings.intended)
            summary = f"{number}/{len(scenarios)} {scenario.name}: {comparison.files} files, {first.failures()} commands failed"
            print(f"{summary}, {first.seconds + second.seconds:.0f} s", file=sys.stderr, flush=True)
            for line in comparison.lines:
                print(f"help: {line}" if scenario.category else line, flush=True)
            files, intended = files + comparison.files, intended + comparison.intended
            helps += len(comparison.lines) if scenario.category else 0
            differences += 0 if scenario.category else len(comparison.lines)
            if not settings.keep:
                for version in (before, after):
                    shutil.rmtree(version.folder / scenario.name, ignore_errors=True)
    if made and not settings.keep:
        shutil.rmtree(work, ignore_errors=True)
    elif settings.keep:
        print(f"the files are in {before.folder} and {after.folder}", file=sys.stderr)
    more = f" ({helps} more in help texts)" if helps else ""
    more += f" ({intended} intended)" if settings.intended else ""
    print(f"{len(scenarios)} scenarios, {files} files, {differences} differences{more}")
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
