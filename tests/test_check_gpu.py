"""`make check-gpu`: failing checks, and as a slow test the whole command on the CPU."""

import fcntl
import json
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

from benchmarks.gpu.__main__ import FAILED, NOT_RUN, PASSED, Row, is_failure, main, markdown, run_check
from benchmarks.gpu.checks import CHECKS, Bench
from benchmarks.gpu.random_model import write_random_model
from bert_cli import FeatureExtractor
from tests.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture
def bench(tmp_path):
    """Return a Bench for a minute on the CPU."""
    return Bench(tmp_path, is_cpu=True, deadline=time.monotonic() + 60, epochs=0.06)


def run_python(code: str):
    """Return a check that runs `code`."""
    return lambda bench: bench.run("-c", code)


def test_a_failing_program_is_a_row_with_its_last_line(bench, capsys):
    row = run_check("export", run_python("import sys; sys.exit('first\\nerror: no such folder')"), bench)
    assert (row.check, row.result) == ("export", FAILED)
    assert row.found.endswith("ended with exit code 1: error: no such folder")
    assert "FAILED  export" in capsys.readouterr().out


def test_a_program_is_killed_with_its_children_at_the_time_limit(bench, tmp_path, monkeypatch):
    path = tmp_path / "locked"

    def is_locked() -> bool:
        with open(path, "a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def start(words) -> subprocess.Popen:
        process = Bench.start(bench, words)
        wait_until(is_locked)
        bench.deadline = time.monotonic()
        return process

    monkeypatch.setattr(bench, "start", start)
    child = f"import fcntl, signal; signal.alarm(60); file = open({str(path)!r}, 'w'); "
    child += "fcntl.flock(file, fcntl.LOCK_EX); signal.pause()"
    row = run_check(
        "speed", run_python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"), bench
    )
    assert (row.result, row.found) == (NOT_RUN, "the time limit is reached")
    assert row.seconds < 30  # the child's output, which is read to its end, would last for a minute
    # A lock ends with its process. Killed processes may end a moment later.
    wait_until(lambda: not is_locked(), seconds=10)


def test_only_speed_checks_may_be_skipped():
    name = next(iter(CHECKS))
    assert [is_failure(Row(name, result, "", 1.0)) for result in (PASSED, FAILED, NOT_RUN)] == [False, True, True]
    assert [is_failure(Row("speed, short", result, "", 1.0)) for result in (FAILED, NOT_RUN)] == [True, False]


def test_the_tables():
    machine = {"gpus": ["NVIDIA A100", "NVIDIA A100"], "tensorflow": "2.21.0", "date": "2027-01-02", "commit": "abc"}
    results = {"base": {"rows": [["base", "prediction, ex/s", "9", "8", "Trainer", "1.12", "40%", "1", "2"]]}}
    text = markdown(machine, [Row("devices", FAILED, "a | b", 1.5)], results)
    assert text.startswith("`make check-gpu` on 2 × NVIDIA A100, TensorFlow 2.21.0, 2027-01-02, at abc:\n")
    assert "| devices | FAILED | a / b | 1.5 |" in text
    assert text.endswith("| base | prediction, ex/s | 9 | 8 | Trainer | 1.12 |\n")


def test_the_random_model_can_be_loaded(tmp_path):
    folder = write_random_model(tmp_path / "model", small=True)
    vectors = FeatureExtractor.load(folder, pooling="mean", engine="onnxruntime").extract(["the old dog", "a bird"])
    assert np.shape(vectors)[0] == 2


def test_the_makefile_target():
    words = ["make", "--dry-run", "--always-make", f"PYTHON={sys.executable}", "check-gpu"]
    on_cpu, on_gpu = (
        subprocess.run([*words, *more], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for more in (["DEVICE=cpu", "MODEL=my model"], [])
    )
    assert '-m benchmarks.gpu "--device=cpu" "--peer_python=.venv/bin/python" "--model=my model"' in on_cpu
    assert "[gpu]" not in on_cpu
    assert 'pip install --quiet --editable ".[gpu]"' in on_gpu


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_whole_command_on_the_cpu(tmp_path):
    """Peers that are not installed are skipped."""
    assert main(["--device=cpu", f"--output={tmp_path}", "--minutes=14"]) == 0
    kept = json.loads((tmp_path / "check_gpu.json").read_text(encoding="utf-8"))
    assert {row["check"]: row["result"] for row in kept["checks"]} == dict.fromkeys(
        ["devices", *CHECKS, "speed, short", "speed, vectors-float32"], PASSED
    )
    assert {row[0] for workload in kept["workloads"].values() for row in workload["rows"]} == {
        "short",
        "vectors-float32",
    }
    assert (tmp_path / "check_gpu.md").read_text(encoding="utf-8").count("| passed |") == len(kept["checks"])


@pytest.mark.slow
def test_without_a_gpu_there_is_one_row(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert main([f"--output={tmp_path}"]) == 1
    (row,) = json.loads((tmp_path / "check_gpu.json").read_text(encoding="utf-8"))["checks"]
    assert row["result"] == FAILED
    assert row["found"].startswith("TensorFlow sees no GPU: ")
