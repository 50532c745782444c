"""Fixtures for all tests. The folder `shared`, beside the checkout, holds golden outputs and data that cannot be shipped."""

import pathlib

import numpy as np
import pytest

from bert_cli.model.config import BertConfig

ROOT = pathlib.Path(__file__).resolve().parents[1]
TINY = {
    "vocab_size": 23,
    "hidden_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 17,
    "max_position_embeddings": 9,
    "type_vocab_size": 2,
}
# Folders whose tests run whole commands or train. `make test` gives out files in the order of their collection: these first,
# so that many small files are left for the process that is done with them sooner.
SLOW_ROOMS = ("commands", "runs", "training")


def pytest_collection_modifyitems(items):
    """The files of SLOW_ROOMS first, in the order of these; the order inside them, and of all others, stays."""

    def room(item) -> int:
        name = item.path.relative_to(ROOT / "tests").parts[0]
        return SLOW_ROOMS.index(name) if name in SLOW_ROOMS else len(SLOW_ROOMS)

    items.sort(key=room)


@pytest.fixture(scope="session")
def shared() -> pathlib.Path:
    """The folder `../shared`; tests that need it are skipped where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs ../shared (golden outputs and data sets), which is not part of the project")
    return folder


@pytest.fixture(scope="session")
def fixtures() -> pathlib.Path:
    """Small files that the tests bring along."""
    return ROOT / "tests" / "fixtures"


@pytest.fixture(scope="session")
def tiny_config():
    """tiny_config(key=value, …) -> a BertConfig of 2 layers × 12 without dropout, changed in the given keys."""

    def make(**changes) -> BertConfig:
        rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        return BertConfig(**(TINY | rates | changes))

    return make


@pytest.fixture(scope="session")
def batch_of():
    """batch_of(lengths, width, …) -> int32 arrays [B, width]: words (0 behind the end), mask, two segments."""

    def make(lengths, width: int, vocab_size: int = TINY["vocab_size"], seed: int = 0) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        mask = (np.arange(width) < np.asarray(lengths)[:, None]).astype(np.int32)
        words = rng.integers(1, vocab_size, mask.shape, dtype=np.int32) * mask
        types = (np.arange(width) >= np.asarray(lengths)[:, None] // 2).astype(np.int32) * mask
        return {"input_word_ids": words, "input_mask": mask, "input_type_ids": types}

    return make


@pytest.fixture(scope="session")
def values_of():
    """values_of(variables) -> {name: array}."""
    return lambda variables: {name: variable.numpy() for name, variable in variables.items()}
