"""Predicted memory for training, checked before anything is allocated."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runs import dry_run
from bert_cli.runtime.machine import TENSORFLOW_BYTES


@pytest.fixture
def memory(monkeypatch):
    """Return a function that sets the free memory in bytes; there is no GPU."""
    monkeypatch.setattr(dry_run, "has_gpu", lambda: False)
    monkeypatch.setattr(dry_run, "machine_memory", lambda: 700_000_000)
    return lambda free: monkeypatch.setattr(dry_run, "free_memory", lambda: free)


@pytest.mark.parametrize(("trains_encoder", "factor"), [(True, 4), (False, 1)])
def test_training_needs_weights_gradients_and_moments(memory, trains_encoder, factor):
    weight_bytes = 100_000_000
    memory(TENSORFLOW_BYTES + factor * weight_bytes)
    dry_run.check_memory(weight_bytes, trains_encoder)
    memory(TENSORFLOW_BYTES + factor * weight_bytes - 1)
    with pytest.raises(InputError, match=r"^--dry_run: training needs at least \d+ MB .* of 700 MB are free"):
        dry_run.check_memory(weight_bytes, trains_encoder)


def test_memory_of_a_gpu_is_not_checked(memory, monkeypatch):
    memory(0)
    monkeypatch.setattr(dry_run, "has_gpu", lambda: True)
    dry_run.check_memory(10**12, True)
