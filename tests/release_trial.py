"""Trial for a release: `python -m tests.release_trial PYTHON QUICKSTART_FLAGS` tries the archives of dist/, for `make release`.

Each archive gets an empty environment with locked packages, and its commands run there. Output is shown only if a
command fails. Nothing here imports a package that is not in the standard library.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from tests.release import ROOT, version_of

_TRAINED = "bert_output"  # bert-classify's default
_BUILTIN = ROOT / "bert_cli" / "builtin" / "pretrained"
_SERVER_SECONDS = 120


class TrialError(Exception):
    """A command that failed in a trial; the message has its output."""


class Trial:
    """An environment with one archive.

    Attributes:
        folder: directory with `environment` and with `run`, the working directory for all commands.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self._bin = folder / "environment" / "bin"
        (folder / "run").mkdir(parents=True, exist_ok=True)

    def install(self, python: str, lock: str, archive: pathlib.Path) -> None:
        """Make the environment anew, with locked packages and an archive."""
        shutil.rmtree(self._bin.parent, ignore_errors=True)
        self._call(python, "-m", "venv", str(self._bin.parent))
        uv = pathlib.Path(sys.executable).with_name("uv")
        words = ("pip", "install", "--quiet", "--python", str(self._bin / "python"))
        self._call(str(uv), *words, "--require-hashes", "--requirement", str(ROOT / "requirements" / lock))
        self.run("python", "-m", "pip", "install", "--quiet", "--no-deps", str(archive))

    def run(self, program: str, *words: str, code: int = 0) -> str:
        """Run an installed program, and return standard output and standard error.

        Raises:
            TrialError: the exit code is another one.
        """
        return self._call(str(self._bin / program), *words, code=code)

    def start(self, program: str, *words: str) -> subprocess.Popen:
        """Start an installed program with a pipe for its standard error."""
        return subprocess.Popen(
            [self._bin / program, *words],
            cwd=self.folder / "run", env=_variables(), stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def _call(self, *words: str, code: int = 0) -> str:
        done = subprocess.run(
            words, cwd=self.folder / "run", env=_variables(), check=False, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        if done.returncode != code:
            raise TrialError(f"{done.stdout}{' '.join(words)}: exit code {done.returncode} instead of {code}")
        return done.stdout


def _variables() -> dict[str, str]:
    """Return the environment variables, without paths to other packages."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def try_full(trial: Trial, quickstart: list[str]) -> None:
    """Train, evaluate and predict with bert_cli, as `make quickstart` does."""
    shutil.rmtree(trial.folder / "run" / _TRAINED, ignore_errors=True)
    trial.run("bert-classify", "--task_name=cola", f"--data_dir={ROOT / 'data'}", *quickstart)


def try_light(trial: Trial) -> None:
    """Serve the model that `try_full` trained, tokenize, convert, and read a refusal, with bert_cli_light."""
    trial.run("bert-tokenize", "the dog")
    trial.run("bert-convert", f"--from={_BUILTIN}", "--to=converted", "--overwrite")
    trial.run("bert-fill-mask", "the dog [MASK] .", "--init_checkpoint=converted")
    check_server(trial)
    check_refusal(trial)


def check_server(trial: Trial) -> None:
    """Ask a server for a prediction, and end it.

    Raises:
        TrialError: it does not start, its response has no label, or its exit code is not 0.
    """
    log, label = "", None
    with trial.start("bert-serve", f"--output_dir={_TRAINED}", "--port=0") as process:
        watchdog = threading.Timer(_SERVER_SECONDS, process.kill)
        watchdog.start()
        try:
            for line in process.stderr:
                log += line
                if address := re.match(r"serving (http://\S+)$", line):
                    label = _predict(address[1])
                    process.send_signal(signal.SIGTERM)
            process.wait()
        except urllib.error.URLError as error:
            raise TrialError(f"{log}bert-serve: {error}") from error
        finally:
            watchdog.cancel()
            process.kill()
    if process.returncode or label is None:
        raise TrialError(f"{log}bert-serve: exit code {process.returncode}, label {label}")


def _predict(address: str) -> str:
    request = urllib.request.Request(f"{address}/predict", json.dumps({"text": "The dog sees."}).encode())
    with urllib.request.urlopen(request, timeout=_SERVER_SECONDS) as response:
        return json.load(response)["label"]


def check_refusal(trial: Trial) -> None:
    """Raise TrialError unless a training ends with one line, which names TensorFlow."""
    train_file = f"--train_file={ROOT / 'data' / 'reviews.csv'}"
    output = trial.run("bert-classify", "--do_train", train_file, "--output_dir=refused", code=1)
    errors = [line for line in output.splitlines() if ": error: " in line]
    if len(errors) != 1 or not output.rstrip().endswith(errors[0]) or "tensorflow is needed" not in errors[0]:
        raise TrialError(f"{output}bert-classify should end with one line that names TensorFlow")


def main(words: list[str]) -> int:
    """Try wheel and sdist for both distributions with a Python, and return the exit code."""
    python, *quickstart = words
    folder = ROOT / "build" / f"try-{pathlib.Path(python).name}"
    shutil.rmtree(folder, ignore_errors=True)
    trial = Trial(folder)
    for name, lock in (("bert_cli", "all.lock"), ("bert_cli_light", "serve.lock")):
        for ending in ("-py3-none-any.whl", ".tar.gz"):
            archive = ROOT / "dist" / f"{name}-{version_of(ROOT)}{ending}"
            start = time.monotonic()
            try:
                trial.install(python, lock, archive)
                trial.run("pip", "check")
                trial.run("bert-doctor")
                if name == "bert_cli":
                    try_full(trial, quickstart)
                else:
                    try_light(trial)
            except TrialError as error:
                print(f"{error}\n{python}, {archive.name}: failed; its environment is {folder}", file=sys.stderr)
                return 1
            print(f"{python}, {archive.name}: passed in {time.monotonic() - start:.0f} s", flush=True)
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
