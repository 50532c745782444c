"""Memory in this machine and process, as reported by Linux."""

import resource

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.runtime import memory
from bert_cli.runtime.memory import check_address_space, current_memory, free_memory, machine_memory, peak_memory


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


@pytest.mark.parametrize(("text", "expected"), [("5000000\n", 5_000_000), ("max\n", None), ("", None), (None, None)])
def test_container_limit(text, expected, tmp_path, monkeypatch):
    without_limit = machine_memory()
    path = tmp_path / "memory.max"
    if text is not None:
        path.write_text(text, encoding="ascii")
    monkeypatch.setattr(memory, "_CONTAINER_LIMITS", (str(path),))
    assert machine_memory() == expected or (expected is None and machine_memory() >= without_limit)
    assert free_memory() <= machine_memory()
