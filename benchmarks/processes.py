"""Running a program to its end: what it printed, how long it took, how much memory it had."""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time


class ProgramError(Exception):
    """A program ended with an error; the text names it, with the end of its standard error."""


@dataclasses.dataclass(frozen=True)
class Finished:
    """Standard output and error; seconds from the start of the interpreter to its end; the most memory of a process, MiB."""

    output: str
    errors: str
    seconds: float
    mib: float

    def last_object(self) -> dict[str, float]:
        """The JSON object of the last line that is one; ProgramError where there is none."""
        lines = [line for line in self.output.split("\n") if line.startswith("{")]
        if not lines:
            raise ProgramError(f"no JSON line in:\n{self.output[-2000:]}\n{self.errors[-2000:]}")
        return json.loads(lines[-1])


def run(command: list[str], name: str) -> Finished:
    """Run it; ProgramError if it fails. Linux and macOS: it asks the system what the process used."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=errors, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)  # or Popen would wait for it once more
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
    if process.returncode:
        raise ProgramError(f"{name} ended with exit code {process.returncode}:\n{texts[1][-3000:]}")
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return Finished(*texts, seconds, usage.ru_maxrss / unit)


def missing(python: str, modules: list[str]) -> str | None:
    """Why these modules cannot be imported there, in short; None where they can."""
    done = subprocess.run([python, "-c", f"import {', '.join(modules)}"], capture_output=True, text=True, check=False)
    return done.stderr.strip().split("\n")[-1] if done.returncode else None
