"""Programs run to their end, with output, duration and memory."""

import dataclasses
import json
import os
import re
import subprocess
import sys
import tempfile
import time


class ProgramError(Exception):
    """A program ended with an error; the message has its name and its last lines on standard error."""


@dataclasses.dataclass(frozen=True)
class Finished:
    """Results of a program that ended.

    Attributes:
        output: standard output.
        errors: standard error.
        seconds: from the interpreter's start to its end.
        cpu_seconds: user and system time of the process and of its children that ended.
        mib: the process's peak memory in MiB.
    """

    output: str
    errors: str
    seconds: float
    cpu_seconds: float
    mib: float

    def last_object(self) -> dict[str, float]:
        """Return the JSON object in the last line that is one, or raise ProgramError."""
        lines = [line for line in self.output.split("\n") if line.startswith("{")]
        if not lines:
            raise ProgramError(f"no JSON line in:\n{self.output[-2000:]}\n{self.errors[-2000:]}")
        return json.loads(lines[-1])


def run(command: list[str], name: str) -> Finished:
    """Run a program; raise ProgramError if it fails.

    This needs Linux or macOS, which report the resources that a process used.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=errors, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        # Otherwise Popen would wait for it again.
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    if process.returncode:
        raise ProgramError(f"{name} ended with exit code {process.returncode}:\n{texts[1][-3000:]}")
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return Finished(*texts, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


@dataclasses.dataclass(frozen=True)
class Mark:
    """Time at which a running program wrote a line with a pattern on standard error.

    Attributes:
        text: first group of the pattern.
        seconds, cpu_seconds: as in Finished, up to this moment.
    """

    text: str
    seconds: float
    cpu_seconds: float


def run_marked(command: list[str], name: str, pattern: str) -> tuple[Finished, list[Mark]]:
    """Run a program like `run`, and record when lines with this pattern come on standard error.

    This needs Linux, where /proc has the processor time of a running process.
    """
    lines, marks = [], []
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        assert process.stderr
        with process.stderr:
            for line in process.stderr:
                lines.append(line.decode("utf-8", "replace"))
                if match := re.search(pattern, lines[-1]):
                    marks.append(Mark(match[1], time.perf_counter() - start, _cpu_seconds(process.pid)))
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    errors = "".join(lines)
    if process.returncode:
        raise ProgramError(f"{name} ended with exit code {process.returncode}:\n{errors[-3000:]}")
    return Finished(text, errors, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / (1 << 10)), marks


def _cpu_seconds(pid: int) -> float:
    """Return a running process's user and system time."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        # The name in parentheses may have spaces. Fields 12 and 13 after it are utime and stime.
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def missing_reason(python: str, modules: list[str]) -> str | None:
    """Return why these modules cannot be imported with an interpreter, or None if they can."""
    process = subprocess.run(
        [python, "-c", f"import {', '.join(modules)}"], capture_output=True, text=True, check=False
    )
    return process.stderr.strip().split("\n")[-1] if process.returncode else None
