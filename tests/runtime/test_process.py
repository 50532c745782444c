"""A lock's owner is running or not, also with containers, restarts and shared filesystems."""

import os
import types

import pytest

from bert_cli.runtime import process as lock_owner
from bert_cli.runtime.process import Owner, this_process

BOOT_TIME = 1000.0
OWNER = {"host": "pod", "process": 7, "started": "aaaa-50", "pid_namespace": "pid:[1]", "device": 3}
STARTS = {7: "aaaa-50", 8: "aaaa-90"}  # start of each visible process, without this process, 9
RUNNING, ENDED, UNKNOWN = True, False, None


@pytest.fixture(autouse=True)
def host(monkeypatch):
    monkeypatch.setattr(lock_owner.socket, "gethostname", lambda: "pod")
    monkeypatch.setattr(lock_owner.os, "getpid", lambda: 9)
    monkeypatch.setattr(lock_owner, "_start_of", lambda process: "aaaa-99" if process == 9 else STARTS.get(process))
    monkeypatch.setattr(lock_owner, "_exists", lambda process: process in STARTS)
    monkeypatch.setattr(lock_owner, "_pid_namespace", lambda: "pid:[1]")
    monkeypatch.setattr(lock_owner, "_boot_time", lambda: BOOT_TIME)


def is_running(is_lock_free: bool, touched: float = BOOT_TIME + 5, device: int = 3, **changes) -> bool | None:
    owner = Owner(**{"command": "bert-tag", "since": "today"} | OWNER | changes)
    return owner.is_running(types.SimpleNamespace(st_mtime=touched, st_dev=device), is_lock_free)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ENDED),
        # A restarted container, with the same name or another one.
        ({"pid_namespace": "pid:[2]", "process": 9}, ENDED),
        ({"pid_namespace": "pid:[2]", "host": "older-pod", "process": 1}, ENDED),
        ({"pid_namespace": None, "host": "older-pod"}, ENDED),
    ],
)
def test_the_owner_of_a_free_lock_on_this_kernel_has_ended(changes, expected):
    assert is_running(True, **changes) is expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, RUNNING),
        ({"host": "older-name"}, RUNNING),
        ({"process": 6}, ENDED),
        ({"process": 8}, ENDED),  # another process has the number now
        ({"process": 9, "started": "aaaa-2"}, ENDED),  # this process has it
        ({"started": None}, RUNNING),
        ({"started": None, "process": 6}, ENDED),
        ({"pid_namespace": None}, RUNNING),
        ({"pid_namespace": None, "host": "other"}, UNKNOWN),
        # Another container in the same pod. Its processes are not visible here.
        ({"pid_namespace": "pid:[2]"}, UNKNOWN),
        ({"pid_namespace": "pid:[2]", "process": 6}, UNKNOWN),
        ({"host": "other", "started": None}, UNKNOWN),
    ],
)
@pytest.mark.parametrize("lock", [{"is_lock_free": False}, {"is_lock_free": True, "device": 4}])
def test_the_process_is_looked_up_if_the_lock_proves_nothing(lock, changes, expected):
    """The filesystem cannot lock, or is mounted twice, for example with FUSE in each pod."""
    assert is_running(**lock, **changes) is expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"touched": BOOT_TIME - 1}, ENDED),  # this host has restarted
        ({"touched": BOOT_TIME + 1}, UNKNOWN),  # a pod with the same name on another node
        ({"touched": BOOT_TIME - 1, "host": "other"}, UNKNOWN),
    ],
)
def test_an_owner_with_another_kernel_has_ended_or_is_unknown(changes, expected):
    assert is_running(True, started="bbbb-50", **changes) is expected


def test_processes_of_other_users_may_be_hidden(monkeypatch):
    monkeypatch.setattr(lock_owner, "_start_of", lambda process: "aaaa-99" if process == 9 else None)
    assert is_running(False) is RUNNING
    assert is_running(False, process=6) is ENDED


def test_this_process_is_an_owner(monkeypatch):
    monkeypatch.undo()
    owner = this_process("bert-tag", 5)
    assert (owner.process, owner.command, owner.device) == (os.getpid(), "bert-tag", 5)
    assert str(owner) == f"bert-tag, process {os.getpid()} on {owner.host}, since {owner.since}"
    status = os.stat(__file__)
    assert owner._replace(process=os.getppid(), started=None).is_running(status, False) is True
