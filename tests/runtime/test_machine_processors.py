"""Number of processors: CPU affinity, and a cgroup's quota."""

import os

import pytest

from bert_cli.runtime import machine as machine_module
from bert_cli.runtime.machine import cpu_quota, describe_processors, num_processors, pool_size


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return a function that makes a machine: its processors, groups and files."""
    monkeypatch.setattr(machine_module, "_CGROUPS", str(tmp_path / "cgroup"))
    monkeypatch.setattr(machine_module, "_OWN_CGROUPS", str(tmp_path / "own"))

    def make(total: int, allowed: int, own_groups: str = "0::/\n", **files: str) -> None:
        monkeypatch.setattr(os, "cpu_count", lambda: total)
        monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(allowed)), raising=False)
        (tmp_path / "own").write_text(own_groups, encoding="ascii")
        for name, text in files.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="ascii")

    return make


V1 = "7:cpu,cpuacct:/kubepods/pod7\n4:memory:/\n0::/\n"
V1_FOLDER = "cpu/kubepods/pod7"


@pytest.mark.parametrize(
    ("own_groups", "files", "quota", "expected"),
    [
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2, 2),
        ("0::/a/b\n", {"a/cpu.max": "150000 100000\n", "a/b/cpu.max": "max 100000\n"}, 1.5, 2),
        ("0::/a/b\n", {"a/cpu.max": "800000 100000\n", "a/b/cpu.max": "50000 100000\n"}, 0.5, 1),
        ("0::/../../docker/abc\n", {"cpu.max": "300000 100000\n"}, 3, 3),
        (V1, {f"{V1_FOLDER}/cpu.cfs_quota_us": "250000\n", f"{V1_FOLDER}/cpu.cfs_period_us": "100000\n"}, 2.5, 3),
        (V1, {"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4, 4),
        (V1, {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, None, 64),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None, 64),
        ("0::/\n", {"cpu.max": "\n"}, None, 64),
        ("0::/\n", {}, None, 64),
        ("0::/\n", {"cpu.max": "12800000 100000\n"}, 128, 64),
    ],
)
def test_quotas(machine, own_groups, files, quota, expected):
    machine(64, 64, own_groups, **files)
    assert (cpu_quota(), num_processors()) == (quota, expected)
    assert pool_size(0) == (expected if expected < 64 else 0)
    assert pool_size(5) == 5


@pytest.mark.parametrize(
    ("allowed", "quota", "text"),
    [
        (64, None, "64 cores"),
        (1, None, "1 of 64 cores (CPU affinity)"),
        (8, "150000 100000", "2 of 64 cores (a cgroup's CPU quota of 1.5)"),
        (1, "150000 100000", "1 of 64 cores (CPU affinity)"),
    ],
)
def test_descriptions(machine, allowed, quota, text):
    machine(64, allowed, **({"cpu.max": quota} if quota else {}))
    assert describe_processors() == text


def test_systems_without_affinity(machine, monkeypatch):
    machine(4, 4)
    monkeypatch.delattr(os, "sched_getaffinity")
    assert num_processors() == 4


def test_this_process(monkeypatch):
    allowed = len(os.sched_getaffinity(0))
    assert 1 <= num_processors() <= allowed
    monkeypatch.setattr(machine_module, "cpu_quota", lambda: None)
    assert num_processors() == allowed
