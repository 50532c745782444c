"""Memory of the machine and of this process, as Linux reports it."""

import numpy as np

from bert_cli.runtime.memory import free_memory, machine_memory, memory_now, peak_memory


def test_free_memory_is_a_part_of_the_machines():
    assert 0 < free_memory() <= machine_memory()


def test_a_large_array_is_seen():
    before = memory_now()
    array = np.ones(400_000_000, np.uint8)
    assert memory_now() - before > 200_000_000  # the process may have had free pages
    assert peak_memory() >= memory_now() - array.nbytes // 10
