"""One run at a time in an output directory: other runs are refused, and stale locks are taken over."""

import errno
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

from bert_cli.base.errors import BusyError, InputError, TemporaryError
from bert_cli.base.log import warn_once
from bert_cli.base.names import LOCK
from bert_cli.run_directory import lock
from bert_cli.run_directory.lock import DirectoryLock
from bert_cli.runtime.process import _start_of
from tests.snapshots import check_message, raises

HERE = socket.gethostname()
BOOT = _start_of(os.getpid()).rpartition("-")[0]
HOLD = """
import sys
from bert_cli.run_directory.lock import DirectoryLock
with DirectoryLock(sys.argv[1], "auto").hold("bert-classify"):
    print("in", flush=True)
    sys.stdin.read()
"""


def hold(folder: pathlib.Path, strategy: str = "auto"):
    return DirectoryLock(str(folder), strategy).hold("bert-tag")


def write_lock(folder: pathlib.Path, age: float = 0.0, **changes) -> pathlib.Path:
    """Write another run's lock file, touched `age` seconds ago."""
    owner = {"host": HERE, "process": 1, "started": None, "command": "bert-squad", "since": "2026-11-20 10:00:00 +0000"}
    folder.mkdir(exist_ok=True)
    path = folder / LOCK
    path.write_text(json.dumps(owner | changes), encoding="utf-8")
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.fixture(scope="module")
def ended_process() -> int:
    """Number of an ended process."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_the_lock_names_its_owner_and_is_removed_at_the_end(tmp_path):
    with hold(tmp_path):
        owner = json.loads((tmp_path / LOCK).read_text())
        assert (owner["host"], owner["process"], owner["command"]) == (HERE, os.getpid(), "bert-tag")
        for attempt in (lambda: DirectoryLock(str(tmp_path), "auto"), lambda: hold(tmp_path).__enter__()):
            with raises(InputError, f"{tmp_path}: ", f"process {os.getpid()} on {HERE}, since {owner['since']}"):
                attempt()
    assert list(tmp_path.iterdir()) == []


def test_a_refused_run_leaves_no_trace(tmp_path):
    here = tmp_path / "here"
    here.mkdir()
    (here / "notes.txt").write_text("mine")
    before = here.stat().st_mtime_ns
    for folder in (here, tmp_path / "no" / "out"):
        with pytest.raises(InputError, match="too many"), hold(folder):
            raise InputError("too many")
    assert [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")] == ["here", "here/notes.txt"]
    assert here.stat().st_mtime_ns == before


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path, ended_process, caplog):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"in\n"
    with pytest.raises(InputError, match=rf"bert-classify, process {process.pid} on {HERE}, since 2"):
        DirectoryLock(str(tmp_path), "auto")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with hold(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["process"] == os.getpid()
    assert not (tmp_path / LOCK).exists()


def test_an_owner_that_may_be_running_keeps_its_lock(tmp_path, ended_process, caplog):
    """The system lock is always free here, as on a filesystem with a lock per machine."""
    caplog.set_level("INFO", "bert_cli")
    parent = os.getppid()
    taken_over = {
        "an ended process": {"process": ended_process},
        "a number that another process has now": {"process": parent, "started": f"{BOOT}-1"},
        "another machine, long ago": {"host": "other", "age": 500},
    }
    for name, changes in taken_over.items():
        write_lock(tmp_path / "a", **changes)
        with hold(tmp_path / "a"):
            pass
        assert not (tmp_path / "a" / LOCK).exists(), name
    assert caplog.text.count("is taken over") == 3
    (tmp_path / "a" / LOCK).write_bytes(b"{torn")  # damaged by a power cut
    with hold(tmp_path / "a"):
        pass
    refused = {
        "a process without a known start": ({"process": parent}, f"bert-squad, process {parent} on {HERE}, since 2026"),
        "the very process": (
            {"process": parent, "started": _start_of(parent)},
            f"process {parent} on {HERE}",
        ),
        "another machine, just now": ({"host": "other", "age": 7}, r"process 1 on other, .*was touched [78] s ago"),
    }
    for changes, message in refused.values():
        free_lock = DirectoryLock(str(tmp_path / "b"), "auto")
        path = write_lock(tmp_path / "b", **changes)
        before = path.read_bytes()
        with pytest.raises(BusyError, match=message):
            DirectoryLock(str(tmp_path / "b"), "auto")
        with pytest.raises(InputError, match=message), free_lock.hold("bert-tag"):
            raise AssertionError
        assert path.read_bytes() == before
        path.unlink()


def test_a_run_between_check_and_lock_is_noticed(tmp_path):
    free_lock = DirectoryLock(str(tmp_path), "auto")
    (tmp_path / "run.json").write_text("{}")
    with (
        raises(InputError),
        free_lock.hold("bert-tag"),
    ):
        raise AssertionError
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_a_remote_directory_cannot_be_locked(caplog):
    with hold("gs://bucket/out"):
        pass
    check_message(caplog)


@pytest.mark.parametrize(
    ("task", "writes"),
    [
        ({"type": "chief", "index": 0}, True),
        ({"type": "worker", "index": 0}, False),
        ({"type": "worker", "index": 1}, False),
    ],
)
def test_the_writing_worker_holds_the_lock(tmp_path, monkeypatch, task, writes):
    cluster = {"chief": ["a:1"], "worker": ["b:1", "c:1"]}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    with hold(tmp_path):
        assert (tmp_path / LOCK).exists() == writes
    with hold(tmp_path, "one_device"):  # each process trains alone and writes files
        assert (tmp_path / LOCK).exists()


@pytest.mark.parametrize("text", ["[" * 60_000, '{"process": ' + "9" * 5_000 + "}", "[]", "null"])
def test_a_damaged_lock_file_has_no_owner(text, tmp_path):
    (tmp_path / LOCK).write_text(text)
    with hold(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["process"] == os.getpid()


@pytest.mark.parametrize("process", [-1, 0, 10**30, "1"])
def test_lock_with_an_invalid_process_number_is_taken_over(process, tmp_path):
    write_lock(tmp_path, process=process)
    with hold(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["process"] == os.getpid()


CONTAINER = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts"]


def test_a_restarted_container_takes_over_the_lock_immediately(tmp_path, caplog):
    """A second container, with another host name, is refused while the first one uses the same volume."""
    if subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to make namespaces")
    caplog.set_level("INFO", "bert_cli")
    run = [*CONTAINER, "sh", "-c", 'hostname other; exec "$@"', "sh", sys.executable, "-c", HOLD, str(tmp_path)]
    process = subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"in\n"
    assert json.loads((tmp_path / LOCK).read_text())["process"] == 1
    with raises(BusyError, "process 1 on other"):
        DirectoryLock(str(tmp_path), "auto")
    process.kill()
    # Wait until it has ended: with its input closed, it would remove the lock.
    assert process.stdout.read() == b""
    process.communicate()
    with hold(tmp_path):
        pass
    check_message(caplog)


def test_an_invisible_owner_keeps_its_lock_for_two_minutes(tmp_path):
    """The owner may run in another pod, and the lock of its kernel is not visible here."""
    write_lock(tmp_path, age=20, host="other", started=f"{BOOT}-1", pid_namespace="pid:[1]", device=None)
    with raises(TemporaryError, "20 s"):
        DirectoryLock(str(tmp_path), "auto")
    write_lock(tmp_path, age=130, host="other", started=f"{BOOT}-1", pid_namespace="pid:[1]", device=None)
    with hold(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["device"] == os.stat(tmp_path).st_dev


def test_a_filesystem_that_cannot_lock_gets_one_warning(tmp_path, monkeypatch, caplog):
    def refuse(descriptor, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    warn_once.cache_clear()
    write_lock(tmp_path, process=os.getppid(), started=f"{BOOT}-1")
    with hold(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["device"] is None
        write_lock(tmp_path, process=os.getppid())
        with pytest.raises(BusyError, match="wait for its end"):
            DirectoryLock(str(tmp_path), "auto")
    text = f"warning: {tmp_path} is on a filesystem that cannot lock (No locks available): its file {LOCK} alone keeps"
    assert [message[: len(text)] for message in caplog.messages if "cannot lock" in message] == [text]


def test_a_full_disk_leaves_no_lock(tmp_path, monkeypatch):
    def fail(descriptor, data, offset):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", fail)
    with (
        pytest.raises(InputError, match=r"\.bert_cli\.lock: cannot be written: No space left on device: \d"),
        hold(tmp_path),
    ):
        pass
    assert list(tmp_path.iterdir()) == []
