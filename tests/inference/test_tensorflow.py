"""Several batches at a time on TensorFlow: one trace, and the same numbers as one at a time."""

import threading

from bert_cli.inference import tensorflow
from bert_cli.inference.engine import EncoderNetwork
from bert_cli.inference.rows import run_sequences
from bert_cli.inference.tensorflow import TensorFlowEngine, open_tensorflow
from bert_cli.settings.devices import Devices
from tests.inference.test_onnx import assert_same_batches, sequences_of_all_lengths
from tests.onnx.test_runners import random_model


def test_two_batches_at_a_time_give_the_same_bits(monkeypatch):
    config, _, weights = random_model(num_hidden_layers=1)
    sequences = sequences_of_all_lengths(config)
    results, makers = [], []

    class Counting(TensorFlowEngine):
        def make_runner(self, *arguments):
            makers.append(threading.current_thread())
            return super().make_runner(*arguments)

    monkeypatch.setattr(tensorflow, "TensorFlowEngine", Counting)
    for processors, concurrency in ((8, 2), (1, 1)):
        makers.clear()
        monkeypatch.setattr(tensorflow, "num_processors", lambda count=processors: count)
        engine = open_tensorflow(EncoderNetwork((1,)), config, Devices(precision="float32"), 12)
        engine.set_weights(weights)
        assert engine.concurrency == concurrency
        results.append(list(run_sequences(engine, sequences, 24)))
        assert len(makers) == 1
    monkeypatch.setattr(tensorflow, "num_processors", lambda: 8)
    attending = open_tensorflow(EncoderNetwork((1,), with_attention=True), config, Devices(precision="float32"), 12)
    assert attending.concurrency == 1, "attention takes much memory"
    assert_same_batches(*results)
