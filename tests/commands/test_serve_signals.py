"""Signals to bert-serve while it loads, messages for systemd, and workers that end."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.commands.test_serve_operations import has_message, metrics_port, scrape, serving
from tests.waiting import wait_until


@contextlib.contextmanager
def loading(*flags: str, **environment: str):
    """Start a server, and end it at the end of the block."""
    command = [sys.executable, "-m", "bert_cli.serve", "--port=0", *flags]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}) as process:
        try:
            yield process
        finally:
            process.kill()


def blocks_sighup(process: subprocess.Popen) -> bool:
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    mask = int(status.partition("SigBlk:")[2].split()[0], 16)
    return bool(mask >> (signal.SIGHUP - 1) & 1)


def test_sighup_while_loading_waits_and_systemd_is_told(trained_once, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(60)
        with loading(f"--output_dir={trained_once[0]}", NOTIFY_SOCKET=str(tmp_path / "notify")) as process:
            wait_until(lambda: blocks_sighup(process))
            process.send_signal(signal.SIGHUP)
            assert listener.recv(100) == b"READY=1"
            lines = iter(process.stderr.readline, "")
            assert any(line.startswith("reload: default: ") for line in lines)
            process.terminate()
            assert listener.recv(100) == b"STOPPING=1"
            assert process.wait(30) == 0


@pytest.mark.parametrize("num_workers", [1, 2])
def test_sigterm_while_loading_ends_with_0(num_workers, trained_once):
    with loading(f"--output_dir={trained_once[0]}", f"--num_workers={num_workers}") as process:
        # The first line comes while the model is loaded.
        line = process.stderr.readline()
        assert not line.startswith("serving")
        process.terminate()
        assert process.wait(30) == 0


def test_sigterm_during_the_imports_ends_with_0(trained_once):
    with loading(f"--output_dir={trained_once[0]}") as process:
        wait_until(lambda: blocks_sighup(process))
        process.terminate()
        assert process.wait(30) == 0
        assert "Traceback" not in process.stderr.read()


def test_a_training_cluster_is_ignored(trained_once):
    workers = {"cluster": {"worker": ["127.0.0.1:1", "127.0.0.1:2"]}, "task": {"type": "worker", "index": 1}}
    with loading(f"--output_dir={trained_once[0]}", TF_CONFIG=json.dumps(workers)) as process:
        lines = []
        while not (lines and lines[-1].startswith("serving http")):
            lines.append(process.stderr.readline())
            assert lines[-1], lines
    assert sum("TF_CONFIG is ignored" in line for line in lines) == 1


def workers_of(served) -> list[int]:
    children = pathlib.Path(f"/proc/{served.process.pid}/task/{served.process.pid}/children").read_text().split()
    # The first child converts log lines of libraries.
    return [int(process) for process in children[1:]]


def test_workers_live_on_without_the_model_and_end_without_the_server(trained_once, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(trained_once[0], model)
    with serving(f"--output_dir={model}", "--num_workers=2", "--metrics_port=0", "--drain_seconds=1") as served:
        port = metrics_port(served)
        served.wait_for(has_message("serving http"), count=2)
        first, second = workers_of(served)
        model.rename(tmp_path / "away")
        os.kill(first, signal.SIGKILL)
        served.wait_for(has_message("another one starts in 1 s"))
        os.kill(second, 0)
        for _ in range(10):
            assert served.post("/predict", {"text": "a dog"})[0] == 200
        (tmp_path / "away").rename(model)
        served.wait_for(has_message("serving http"), count=3)
        assert scrape(port)["bert_process_restarts_total"] >= 2
        assert scrape(port)["bert_server_processes"] == 2
        # A server that is killed takes its workers and their files with it.
        workers = workers_of(served)
        files = pathlib.Path(f"/proc/{second}/maps").read_text(encoding="utf-8").split()
        (folder,) = {os.path.dirname(path) for path in files if "bert_cli-metrics-" in path}
        served.process.kill()
        start_time = time.monotonic()
        wait_until(lambda: not any(os.path.exists(f"/proc/{worker}") for worker in workers))
        assert time.monotonic() - start_time < 10
        assert not os.path.exists(folder)
