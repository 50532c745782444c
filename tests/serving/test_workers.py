"""The process that starts and replaces workers."""

import itertools
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from bert_cli.serving.workers import Supervisor
from tests.waiting import wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
START = """
import os, pathlib, signal, sys, time
from bert_cli.serving.workers import run_workers
events = pathlib.Path(sys.argv[1])
def note(text):
    with events.open("a") as file:
        file.write(f"{text}\\n")
def wait_for_the_end(supervisor):
    while not supervisor.has_ended():
        time.sleep(0.02)
"""
WITH_AN_ORPHAN = """
from tests.waiting import wait_until
orphan = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 3"], os.environ)
def is_reaped():
    try:
        os.kill(orphan, 0)
    except ProcessLookupError:
        return True
def work(supervisor):
    supervisor.note_ready()
    wait_until(is_reaped)
    os.kill(os.getppid(), signal.SIGTERM)
    signal.pause()
raise SystemExit(run_workers(1, work, [], lambda: None))
"""
# Workers fail while the file "broken" exists.
UNTIL_REPAIRED = """
def work(supervisor):
    note(f"start {os.getpid()} {time.monotonic()}")
    if events.with_name("broken").exists():
        raise SystemExit
    supervisor.note_ready()
    note(f"ready {os.getpid()}")
    wait_for_the_end(supervisor)
    note(f"alone {os.getpid()}")
raise SystemExit(run_workers(2, work, [], lambda: note("restart")))
"""
WITH_A_DAMAGED_FILE = """
from bert_cli.base.errors import InputError
def refuse():
    raise InputError("keys.txt: is damaged")
def work(supervisor):
    signal.signal(signal.SIGHUP, lambda number, frame: note("reload of-worker"))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
    supervisor.note_ready()
    note("ready")
    wait_for_the_end(supervisor)
raise SystemExit(run_workers(1, work, [refuse, lambda: note("reload of-certificate")], lambda: None))
"""


class Started:
    """A process that runs workers, and the events that they note."""

    def __init__(self, code: str, directory: pathlib.Path):
        self.events_file = directory / "events"
        self.process = subprocess.Popen(
            [sys.executable, "-c", START + code, self.events_file], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )

    def events(self, name: str) -> list[list[str]]:
        """Return the values of all events with a name."""
        lines = self.events_file.read_text(encoding="utf-8").splitlines() if self.events_file.exists() else []
        return [line.split()[1:] for line in lines if line.split()[0] == name]

    def end(self) -> tuple[int, str]:
        """Return exit code and standard error."""
        self.process.terminate()
        return self.process.wait(60), self.process.stderr.read()


@pytest.fixture
def start(tmp_path):
    started = []

    def start_process(code: str) -> Started:
        started.append(Started(code, tmp_path))
        return started[-1]

    yield start_process
    for process in started:
        process.process.kill()
        process.process.wait()
        process.process.stderr.close()


def test_the_end_of_another_process_is_ignored(start):
    started = start(WITH_AN_ORPHAN)
    assert (started.process.wait(100), started.process.stderr.read()) == (0, "")


def test_pauses_between_restarts_grow_and_a_healthy_worker_stays(start, tmp_path):
    started = start(UNTIL_REPAIRED)
    wait_until(lambda: len(started.events("ready")) == 2)
    (healthy,), (killed,) = started.events("ready")
    (tmp_path / "broken").touch()
    os.kill(int(killed), signal.SIGKILL)
    wait_until(lambda: len(started.events("start")) == 5)
    os.kill(int(healthy), 0)
    (tmp_path / "broken").unlink()
    wait_until(lambda: len(started.events("ready")) == 3)
    times = [float(when) for _, when in started.events("start")[2:5]]
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert 0.4 < pauses[0] < 0.9 < pauses[1]
    assert len(started.events("restart")) == len(started.events("start")) - 2
    exit_code, log = started.end()
    assert exit_code == 0
    assert f"the server process {killed} ended by SIGKILL; another one starts now" in log
    assert "ended with exit code 1; another one starts in 1 s" in log


def test_workers_end_with_the_process_that_started_them(start):
    started = start(UNTIL_REPAIRED)
    wait_until(lambda: len(started.events("ready")) == 2)
    started.process.kill()
    wait_until(lambda: sorted(started.events("alone")) == sorted(started.events("ready")))


def test_the_server_ends_if_no_process_can_be_started(start, tmp_path):
    (tmp_path / "broken").touch()
    started = start(UNTIL_REPAIRED)
    start_time = time.monotonic()
    assert started.process.wait(60) == 1
    assert time.monotonic() - start_time < 20
    assert len(started.events("start")) == 2


def test_a_damaged_file_keeps_no_other_file_from_being_read_again(start):
    started = start(WITH_A_DAMAGED_FILE)
    wait_until(lambda: started.events("ready"))
    started.process.send_signal(signal.SIGHUP)
    wait_until(lambda: sorted(started.events("reload")) == [["of-certificate"], ["of-worker"]])
    assert started.end()[0] == 0


def test_a_process_that_nobody_started_is_not_alone():
    assert not Supervisor().has_ended()
    assert Supervisor(1).has_ended()
