"""--engine=openvino, compared with the NumPy encoder and with onnxruntime."""

import pathlib
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

from bert_cli import MaskFiller
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, TAGGER, HeadSpec
from bert_cli.base.spec import INPUTS
from bert_cli.inference import openvino as openvino_engine
from bert_cli.inference.engine import EncoderNetwork, FineTunedNetwork
from bert_cli.inference.onnx import open_onnxruntime
from bert_cli.inference.openvino import open_openvino
from bert_cli.onnx.graph import assemble
from bert_cli.runtime.machine import has_fast_bfloat16
from bert_cli.settings.devices import EngineChoice
from bert_cli.weights.path import TF1, CheckpointPath
from tests.onnx.test_runners import batch, likeness, random_model, reference_outputs
from tests.snapshots import raises

pytest.importorskip("openvino")
OPENERS = {"openvino": open_openvino, "onnxruntime": open_onnxruntime}
# Smallest allowed cosine similarity to the NumPy encoder, by precision.
LEAST_COSINE = {"float32": 1 - 1e-9, "bfloat16": 0.9995}
HAS_BFLOAT16 = has_fast_bfloat16()


def make_engine(network, weights, config, precision="float32", name="openvino"):
    """Return an engine with weights."""
    engine = OPENERS[name](network, config, EngineChoice(name, precision, f"--engine={name}"))
    engine.set_weights(weights)
    return engine


def checkpoint_with(weights):
    """Return an opened checkpoint that has these weights."""
    shapes = {name: values.shape for name, values in weights.items()}
    reader = types.SimpleNamespace(description="model", shapes=shapes, unused=[], read=weights.__getitem__)
    return CheckpointPath(TF1, "model", opened=reader)


each_precision = pytest.mark.parametrize("precision", LEAST_COSINE)


@pytest.mark.parametrize(
    ("activation", "precision"),
    [
        ("gelu", "float32"),
        ("relu", "bfloat16"),
        pytest.param("gelu", "bfloat16", marks=pytest.mark.slow),
        pytest.param("relu", "float32", marks=pytest.mark.slow),
    ],
)
def test_all_layers_and_the_pooler(activation, precision):
    config, reference, weights = random_model(hidden_act=activation)
    inputs = batch()
    expected = reference_outputs(reference, weights, inputs)
    outputs = make_engine(EncoderNetwork((0, 1, 2, 3)), weights, config, precision).run(inputs)
    for index, state in enumerate([expected["embedding_output"], *expected["encoder_outputs"]]):
        assert outputs[f"state_{index}"].dtype == np.float32
        assert likeness(outputs[f"state_{index}"], state) > LEAST_COSINE[precision], index
    pooled = make_engine(EncoderNetwork(()), weights, config, precision).run(inputs)["pooled_output"]
    assert likeness(pooled, expected["pooled_output"]) > LEAST_COSINE[precision]


@each_precision
def test_texts_of_different_lengths_in_one_batch(precision):
    config, reference, weights = random_model()
    lengths, inputs = (12, 9, 4), batch(3)
    inputs[INPUTS[1]] = (np.arange(12) < np.array(lengths)[:, None]).astype(np.int32)
    states = make_engine(EncoderNetwork((3,)), weights, config, precision).run(inputs)["state_0"]
    for row, length in enumerate(lengths):
        expected = reference_outputs(
            reference, weights, {name: values[row : row + 1, :length] for name, values in inputs.items()}
        )
        assert likeness(states[row, :length], expected["sequence_output"][0]) > LEAST_COSINE[precision]


@pytest.mark.skipif(not HAS_BFLOAT16, reason="this processor has no units for bfloat16")
def test_bfloat16_differs_from_float32(caplog):
    config, _, weights = random_model()
    exact, rounded = (
        make_engine(EncoderNetwork((3,)), weights, config, precision).run(batch())["state_0"]
        for precision in LEAST_COSINE
    )
    assert np.abs(exact - rounded).max() > 1e-4
    assert "no units for bfloat16" not in caplog.text


def test_attention_equals_onnxruntime():
    """Attention probabilities are float32 and come from every layer."""
    config, _, weights = random_model()
    network = EncoderNetwork((3,), with_attention=True)
    openvino_result, reference = (make_engine(network, weights, config, name=name).run(batch()) for name in OPENERS)
    assert openvino_result.keys() >= {"attention_0", "attention_1", "attention_2"}
    for name, values in reference.items():
        np.testing.assert_allclose(openvino_result[name], values, atol=1e-5)


@pytest.mark.parametrize("head", [HeadSpec(CLASSIFIER, 3), HeadSpec(TAGGER, 3)])
def test_logits_equal_onnxruntime(head):
    config, _, weights = random_model()
    rng = np.random.default_rng(7)
    tensors = weights | {
        name: rng.normal(size=shape).astype(np.float32) for name, shape in head.shapes(config.hidden_size).items()
    }
    network = FineTunedNetwork(head, "a model")
    openvino_result, reference = (
        make_engine(network, tensors, config, name=name).run(batch())["logits"] for name in OPENERS
    )
    np.testing.assert_allclose(openvino_result, reference, atol=1e-5)


@pytest.mark.parametrize("name", OPENERS)
def test_a_network_loaded_in_the_background_computes_the_same(name):
    config, _, weights = random_model()
    network = EncoderNetwork((3,))
    expected = make_engine(network, weights, config, name=name).run(batch())["state_0"]
    engine = OPENERS[name](network, config, EngineChoice(name, "float32", f"--engine={name}"))
    engine.start_loading(checkpoint_with(weights))
    np.testing.assert_array_equal(engine.run(batch())["state_0"], expected)


def test_waiting_raises_errors_of_a_thread_that_loads():
    config, _, weights = random_model()
    engine = open_openvino(EncoderNetwork((3,)), config, EngineChoice("openvino", "float32", "--engine=openvino"))
    del weights["bert/embeddings/word_embeddings"]
    engine.start_loading(checkpoint_with(weights))
    with raises(InputError):
        engine.compilation.wait()


def test_constants_in_memory_are_not_copied(monkeypatch):
    """If OpenVINO refuses them, they are copied into the model, which computes the same."""
    config, _, weights = random_model()
    sizes = []

    def record_size(*arguments):
        sizes.append(len(model := assemble(*arguments)))
        return model

    monkeypatch.setattr(openvino_engine, "assemble", record_size)
    states = make_engine(EncoderNetwork((3,)), weights, config).run(batch())["state_0"]
    monkeypatch.setattr(openvino_engine, "_IN_MEMORY", "no_such_file")
    expected = make_engine(EncoderNetwork((3,)), weights, config).run(batch())["state_0"]
    np.testing.assert_array_equal(states, expected)
    in_memory, refused, copied = sizes
    assert max(in_memory, refused) < 40_000
    assert copied > sum(value.nbytes for name, value in weights.items() if name.endswith("/kernel")) / 2


def test_calls_from_several_threads():
    config, _, weights = random_model()
    run = make_engine(EncoderNetwork((3,)), weights, config).run
    batches = [batch(rows, length) for rows, length in ((6, 12), (3, 7), (5, 9))]
    expected = [run(inputs)["state_0"] for inputs in batches]
    states_by_thread: dict[int, list[np.ndarray]] = {}

    def call(number: int) -> None:
        states_by_thread[number] = [run(batches[number])["state_0"] for _ in range(20)]

    threads = [threading.Thread(target=call, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, states in states_by_thread.items():
        assert all(np.array_equal(state, expected[number]) for state in states)
    assert len(states_by_thread) == 3


def test_masked_words_equal_onnxruntime():
    """The built-in model also has a next-sentence head."""
    text = "the dog [MASK] in the garden ."
    openvino_result, reference = (
        MaskFiller.load(engine=engine, precision="float32").records([text])[0]["masks"][0]
        for engine in ("openvino", "onnxruntime")
    )
    assert [word["token"] for word in openvino_result] == [word["token"] for word in reference]
    np.testing.assert_allclose(
        *([word["probability"] for word in words] for words in (openvino_result, reference)), atol=1e-5
    )


def test_missing_package_is_reported_in_one_line(tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("a bird\n", encoding="utf-8")
    code = (
        "import sys; sys.modules['openvino'] = None; from bert_cli.extract_features import main\n"
        f"sys.exit(main(['--engine=openvino', '--input_file={lines}', '--output_file={tmp_path / 'out.jsonl'}']))"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert process.returncode == 1
    assert process.stderr.splitlines()[-1] == (
        "bert-extract-features: error: --engine=openvino needs the package openvino: pip install -e '.[openvino]' in the clone"
    )
    assert [path.name for path in pathlib.Path(tmp_path).iterdir()] == ["lines.txt"]


_FIRST_INFERENCES = """
import sys, threading
import numpy as np
from bert_cli.inference.openvino import _open_backend
from bert_cli.inference.onnx import BatchParallelism
from bert_cli.onnx.graph import FLOAT, Graph

sys.setswitchinterval(1e-6)
make = _open_backend("float32", BatchParallelism(4, 1))
graph = Graph()
graph.output("y", ("rows", 8), "Relu", graph.input("x", ("rows", 8), FLOAT))
run, barrier = make(graph, {}), threading.Barrier(8)

def infer():
    barrier.wait()
    run({"x": np.ones((4, 8), np.float32)})

threads = [threading.Thread(target=infer) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.slow
def test_first_inferences_in_several_threads_do_not_wait_for_each_other():
    """OpenVINO fills tables at its first inference; without the preparation, a quarter of such processes hang."""
    for _ in range(12):
        subprocess.run([sys.executable, "-c", _FIRST_INFERENCES], check=True, timeout=60)
