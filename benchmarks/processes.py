"""Programs run to their end, with output, duration and memory."""

import dataclasses
import json
import os
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


def missing_reason(python: str, modules: list[str]) -> str | None:
    """Return why these modules cannot be imported with an interpreter, or None if they can."""
    process = subprocess.run(
        [python, "-c", f"import {', '.join(modules)}"], capture_output=True, text=True, check=False
    )
    return process.stderr.strip().split("\n")[-1] if process.returncode else None
