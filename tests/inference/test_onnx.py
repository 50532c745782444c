"""Many batches on an engine for ONNX graphs: shares of the processors, and the same numbers as one at a time."""

import numpy as np
import pytest

from bert_cli.features.ragged import RaggedFeatures
from bert_cli.inference import onnx
from bert_cli.inference.engine import Arrays, EncoderNetwork
from bert_cli.inference.onnx import BatchParallelism, open_onnxruntime, share_processors
from bert_cli.inference.rows import run_sequences
from bert_cli.model.config import BertConfig
from bert_cli.onnx.runners import ALL_THREADS
from bert_cli.settings.devices import EngineChoice
from tests.onnx.test_runners import random_model

Batches = list[tuple[np.ndarray, Arrays]]  # row numbers, outputs


def sequences_of_all_lengths(config: BertConfig) -> RaggedFeatures:
    """Return 60 random sequences of 2 to 11 tokens."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 12, 60)
    tokens = rng.integers(1, config.vocab_size, lengths.sum()).astype(np.int32)
    return RaggedFeatures(tokens, np.zeros(len(tokens), np.int8), np.concatenate([[0], np.cumsum(lengths)]))


def assert_same_batches(batches: Batches, others: Batches) -> None:
    """Check that two results of run_sequences have many batches, the same rows and the same bits."""
    assert len(batches) > 10
    for (rows, outputs), (other_rows, other_outputs) in zip(batches, others, strict=True):
        np.testing.assert_array_equal(rows, other_rows)
        np.testing.assert_array_equal(outputs["state_0"], other_outputs["state_0"])


@pytest.mark.parametrize(
    ("processors", "shares"),
    [
        (1, (1, ALL_THREADS)), (2, (2, 1)), (3, (3, 1)), (4, (4, 1)), (5, (2, 2)), (6, (3, 2)), (8, (4, 2)),
        (16, (4, 4)), (64, (4, 16)),
    ],
)  # fmt: skip
def test_shares_of_the_processors(processors, shares, monkeypatch):
    monkeypatch.setattr(onnx, "num_processors", lambda: processors)
    assert share_processors(True, 0) == shares
    assert share_processors(False, 0) == (1, ALL_THREADS)
    assert share_processors(True, 6) == (3, 2)
    assert share_processors(True, 1) == (1, 1)
    assert share_processors(False, 3) == (1, 3)


@pytest.mark.parametrize(
    ("name", "precision"), [("onnxruntime", "float32"), ("onnxruntime", "int8"), ("openvino", "float32")]
)
def test_many_batches_at_a_time_give_the_same_bits(name, precision, monkeypatch):
    """Neither the number of threads nor the neighbors change a sum's order."""
    opener = open_onnxruntime
    if name == "openvino":
        pytest.importorskip("openvino")
        from bert_cli.inference.openvino import open_openvino as opener
    monkeypatch.setattr(
        "bert_cli.inference.onnx.share_processors",
        lambda many, num_threads: BatchParallelism(3, 1) if many else BatchParallelism(1, 2),
    )
    monkeypatch.setattr("bert_cli.inference.openvino.share_processors", onnx.share_processors)
    config, _, weights = random_model()
    sequences = sequences_of_all_lengths(config)
    results = []
    for many in (False, True):
        engine = opener(EncoderNetwork((3,)), config, EngineChoice(name, precision, f"--engine={name}"), many=many)
        engine.set_weights(weights)
        assert engine.concurrency == (3 if many else 1)
        results.append(list(run_sequences(engine, sequences, 24)))
    assert_same_batches(*results)
