"""Metrics about processes, compared with other sources for the same numbers."""

import os
import subprocess
import sys
import time

import pytest

from bert_cli.runtime.machine import current_memory
from bert_cli.serving.metrics import ProcessCollector
from bert_cli.serving.processes import read_stat

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")


def values(*processes):
    return {metric.name: metric.samples[0].value for metric in ProcessCollector(lambda: list(processes)).collect()}


def test_own_process():
    collected = values(os.getpid())
    times = os.times()
    total = times.user + times.system + times.children_user + times.children_system
    assert collected["process_cpu_seconds"] == pytest.approx(total, abs=0.2)
    assert collected["process_resident_memory_bytes"] == pytest.approx(current_memory(), rel=0.2)
    assert collected["process_open_fds"] == pytest.approx(len(os.listdir("/proc/self/fd")), abs=3)
    assert 0 < time.time() - collected["process_start_time_seconds"] < 24 * 3600
    assert collected["bert_server_processes"] == 1


def test_time_of_a_dead_worker_stays_in_the_sum():
    code = "import sys, time\nwhile time.process_time() < 0.4: pass\nprint('done', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:
        worker.stdout.readline()
        # Read this process's time first, because it goes on.
        alone = values(os.getpid())["process_cpu_seconds"]
        before = values(os.getpid(), worker.pid)
        assert before["bert_server_processes"] == 1
        assert before["process_cpu_seconds"] >= alone + 0.3
        worker.kill()
    after = values(os.getpid(), worker.pid)
    assert after["bert_server_processes"] == 0
    assert after["process_cpu_seconds"] >= before["process_cpu_seconds"]
    assert read_stat(worker.pid) == []


def test_command_names_with_spaces_and_parentheses(tmp_path):
    program = tmp_path / "a b) c (d"
    os.symlink(sys.executable, program)
    with subprocess.Popen([program, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as process:
        try:
            assert values(process.pid)["process_open_fds"] > 0
        finally:
            process.kill()


def test_no_metrics_without_a_process():
    assert values(2**22 + 1) == {}
