"""Commands in separate processes that can be killed and do not import TensorFlow each time.

The import takes seconds.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The starter forks before TensorFlow starts threads. It reads [module, arguments, log, environment]
# from standard input and answers with the child's process id, or reads such an id and answers with
# the child's wait status.
STARTER = """
import importlib, json, os, sys, traceback, warnings
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
setup_tensorflow()
import bert_cli.runs.engine.training_inputs
warnings.simplefilter("ignore", DeprecationWarning)
for line in sys.stdin:
    asked = json.loads(line)
    if isinstance(asked, int):
        print(os.waitpid(asked, 0)[1], flush=True)
        continue
    module, arguments, log, environment = asked
    child = os.fork()
    if child:
        print(child, flush=True)
        continue
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1), os.dup2(file, 2), os.close(0)
    os.environ |= environment
    try:
        code = importlib.import_module(module).main(arguments)
    except BaseException:
        traceback.print_exc()
        code = 99
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(code)
"""


class Running:
    """A command that is running or has ended."""

    def __init__(self, starter: subprocess.Popen, command: list, log: pathlib.Path):
        self._starter, self.log = starter, log
        self.began = time.monotonic()
        self.process = self._ask(command)

    def _ask(self, value) -> int:
        self._starter.stdin.write(json.dumps(value) + "\n")
        self._starter.stdin.flush()
        return int(self._starter.stdout.readline())

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process, number)  # only `wait` reaps the process, so the id is not reused

    def wait(self) -> int:
        """Return the exit code, or minus the signal that killed the process."""
        return os.waitstatus_to_exitcode(self._ask(self.process))

    @property
    def err(self) -> str:
        return self.log.read_text(encoding="utf-8")


class Starter:
    """start(module, flags) -> Running."""

    def __init__(self, process: subprocess.Popen, folder: pathlib.Path):
        self._process, self._folder, self._count = process, folder, 0

    def start(self, module: str, flags: list[str], **environment: str) -> Running:
        self._count += 1
        log = self._folder / f"{self._count}.log"
        log.touch()
        command = [f"bert_cli.{module}", [str(flag) for flag in flags], str(log), environment]
        return Running(self._process, command, log)

    def run(self, module: str, flags: list[str]) -> float:
        """Run a command to its end, and return the seconds."""
        running = self.start(module, flags)
        assert running.wait() == 0, running.err
        return time.monotonic() - running.began


@contextlib.contextmanager
def starter(folder: pathlib.Path) -> Iterator[Starter]:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as process:
        try:
            yield Starter(process, folder)
        finally:
            process.stdin.close()
