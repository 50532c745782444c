"""Commands that predict texts write nothing into the home directory and contact no other machine."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

import pytest

# An address outside this machine.
ELSEWHERE = re.compile(r'inet_addr\("(?!127\.|0\.0\.0\.0)|inet_pton\(AF_INET6, "(?!::1?")')
MASKED = "the [MASK] sees a bird ."
PYTHON = "from bert_cli import MaskFiller; print(MaskFiller.load(engine={engine!r}).fill(['the [MASK] .']))"


class Watched:
    """Runner for programs in an empty home directory, with strace if this machine has it."""

    def __init__(self, folder: pathlib.Path):
        self.home, self._trace = folder / "home", folder / "trace"
        self.home.mkdir()
        dropped = ("ORT_DISABLE_TELEMETRY", "XDG_", "CI")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        self.environment = inherited | {"HOME": str(self.home)}
        command = ["strace", "-f", "-e", "trace=network", "-o", str(self._trace)]
        # A container may not allow tracing.
        is_able = shutil.which("strace") and not subprocess.run([*command, "true"], check=False).returncode
        self.prefix = command if is_able else []

    def assert_nothing_left(self) -> None:
        assert [str(path) for path in self.home.rglob("*")] == []
        calls = self._trace.read_text(encoding="utf-8").splitlines() if self.prefix else []
        assert [call for call in calls if ELSEWHERE.search(call)] == []


@pytest.fixture
def watched(tmp_path):
    return Watched(tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ["-m", "bert_cli.fill_mask", MASKED],
        ["-m", "bert_cli", "fill-mask", MASKED, "--engine=openvino"],
        ["-c", PYTHON.format(engine="onnxruntime")],
        pytest.param(["-c", PYTHON.format(engine="openvino")], marks=pytest.mark.slow),
        ["-c", "import bert_cli, onnxruntime, time; time.sleep(0.5)"],
    ],
    ids=["command", "command-openvino", "python", "python-openvino", "own-import"],
)
def test_prediction_leaves_no_trace(watched, words):
    if "openvino" in str(words):
        pytest.importorskip("openvino")
    command = [*watched.prefix, sys.executable, *words]
    done = subprocess.run(command, env=watched.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    watched.assert_nothing_left()


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_server_contacts_no_other_machine(watched, trained_once, workers):
    flags = [f"--output_dir={trained_once[0]}", "--port=0", f"--num_workers={workers}"]
    # Use a new session, so that a signal reaches the server below strace.
    process = subprocess.Popen(
        [*watched.prefix, sys.executable, "-m", "bert_cli.serve", *flags],
        env=watched.environment, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        lines = []
        while not (address := re.match(r"serving (http://127\.0\.0\.1:\d+)", (lines or [""])[-1])):
            lines.append(process.stderr.readline())
            assert process.poll() is None, lines
        request = urllib.request.Request(f"{address[1]}/predict", b'{"text": "a dog"}', {"User-Agent": "test"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert json.load(answer)["label"] in ("0", "1")
        time.sleep(1)  # onnxruntime looked up its telemetry server in the first second
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=60)
    watched.assert_nothing_left()
