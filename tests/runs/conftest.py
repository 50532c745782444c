"""Training data for tests of runs."""

import numpy as np
import pytest

from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.ragged import RaggedFeatures


@pytest.fixture(scope="module")
def features() -> ClassificationFeatures:
    """Ten rows with one to eight tokens, in three classes."""
    rng = np.random.default_rng(1)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 9, 10))])
    sequences = RaggedFeatures(rng.integers(1, 20, offsets[-1], np.int32), np.zeros(offsets[-1], np.int8), offsets)
    return ClassificationFeatures(sequences, rng.integers(0, 3, 10, np.int32), tuple("abcdefghij"))
