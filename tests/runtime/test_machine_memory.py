"""Memory in this machine and process, as reported by Linux."""

import resource

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.runtime import machine
from bert_cli.runtime.machine import (
    check_address_space,
    current_memory,
    free_memory,
    machine_memory,
    peak_memory,
    release_free_memory,
)


def test_free_memory_is_at_most_the_machine_memory():
    assert 0 < free_memory() <= machine_memory()


def test_a_large_array_counts():
    before = current_memory()
    array = np.ones(400_000_000, np.uint8)
    assert current_memory() - before > 200_000_000  # the process may have free pages
    assert peak_memory() >= current_memory() - array.nbytes // 10


@pytest.mark.parametrize(("limit", "is_enough"), [(2_048_000_000, False), (2_300_000_000, True), (-1, True)])
def test_address_space_limit(limit, is_enough, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limit, -1))
    if is_enough:
        check_address_space(2_300_000_000, "start TensorFlow")
        return
    message = (
        r"^not enough memory to start TensorFlow: ulimit -v allows 2,000,000 kB, at least 2,246,093 kB are needed; "
        r"raise the limit \(ulimit -v unlimited\), or run this as a job of the cluster$"
    )
    with pytest.raises(InputError, match=message):
        check_address_space(2_300_000_000, "start TensorFlow")


@pytest.fixture
def cgroups(tmp_path, monkeypatch):
    """Return a function that writes files of cgroups and the list of this process's groups."""
    monkeypatch.setattr(machine, "_CGROUPS", str(tmp_path / "cgroup"))
    monkeypatch.setattr(machine, "_OWN_CGROUPS", str(tmp_path / "own"))

    def write(own_groups, **limits):
        (tmp_path / "own").write_text(own_groups, encoding="ascii")
        for name, text in limits.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="ascii")

    return write


V2, V1 = "0::/\n", "4:memory:/\n0::/\n"
NESTED_V2, NESTED_V1 = "0::/user.slice/job_7/step\n", "11:cpu,cpuacct:/x\n4:hugetlb,memory:/slurm/job_7\n0::/\n"
STAT = "anon 1\ninactive_file 1500000\ntotal_inactive_file 1000000\nactive_file 7\n"


@pytest.mark.parametrize(
    ("own_groups", "folder", "limit_name", "use_name", "free"),
    [
        (V2, "", "memory.max", "memory.current", 4_500_000),
        (NESTED_V2, "user.slice/job_7/step/", "memory.max", "memory.current", 4_500_000),
        (NESTED_V2, "user.slice/", "memory.max", "memory.current", 4_500_000),
        # A container without its own namespace sees the host's path, but only its own files.
        ("0::/../../docker/abc\n", "", "memory.max", "memory.current", 4_500_000),
        (V1, "memory/", "memory.limit_in_bytes", "memory.usage_in_bytes", 4_000_000),
        (NESTED_V1, "memory/slurm/job_7/", "memory.limit_in_bytes", "memory.usage_in_bytes", 4_000_000),
        (NESTED_V1, "memory/slurm/", "memory.limit_in_bytes", "memory.usage_in_bytes", 4_000_000),
    ],
)
def test_cgroup_limits(own_groups, folder, limit_name, use_name, free, cgroups):
    unlimited = machine_memory()
    files = {f"{folder}{limit_name}": "5000000\n", f"{folder}{use_name}": "2000000\n", f"{folder}memory.stat": STAT}
    cgroups(own_groups, **files)
    assert machine_memory() == 5_000_000 < unlimited
    assert free_memory() == free


@pytest.mark.parametrize("text", ["max\n", "", "9223372036854771712\n"])
@pytest.mark.parametrize("name", ["memory.max", "memory/memory.limit_in_bytes", "memory/slurm/memory.limit_in_bytes"])
def test_no_cgroup_limit(text, name, cgroups):
    cgroups(NESTED_V1)
    unlimited = machine_memory()
    cgroups(NESTED_V1, **{name: text})
    assert machine_memory() == unlimited
    assert 0 < free_memory() <= machine_memory()


def test_smallest_limit_of_nested_groups_counts(cgroups):
    limits = {"user.slice/memory.max": "6000000", "user.slice/job_7/memory.max": "7000000", "other/memory.max": "5"}
    cgroups(NESTED_V2, **limits)
    assert machine_memory() == 6_000_000


def test_full_cgroup_has_no_free_memory(cgroups):
    cgroups(V2, **{"memory.max": "5000000", "memory.current": "5004096"})
    assert free_memory() == 0


_MAPS = """\
7f0000000000-7f0000001000 r--p 00000000 fe:00 12 /a directory/libtensorflow_cc.so.2
7f0000001000-7f0000003000 r-xp 00001000 fe:00 12 /a directory/libtensorflow_cc.so.2
7f0000003000-7f0000004000 r--p 00003000 fe:00 12 /a directory/libtensorflow_cc.so.2
7f0000004000-7f0000005000 rw-p 00004000 fe:00 12 /a directory/libtensorflow_cc.so.2
7f0000005000-7f0000006000 r--p 00000000 fe:00 13 /lib/libc.so.6
7f0000006000-7f0000007000 rw-p 00000000 00:00 0
"""


def test_only_unchanged_pages_of_the_libraries_are_dropped():
    mappings = machine._code_mappings(_MAPS.splitlines(), "/libtensorflow")
    assert mappings == [(0x7F0000000000, 0x7F0000001000), (0x7F0000001000, 0x7F0000003000)]


def test_tensorflow_computes_after_its_pages_were_dropped():
    numbers = tf.random.stateless_uniform([100, 100], [1, 2])
    expected = tf.matmul(numbers, numbers).numpy()
    release_free_memory()
    np.testing.assert_array_equal(tf.matmul(numbers, numbers), expected)
