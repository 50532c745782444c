"""--engine=openvino: compared with the NumPy oracle, and by the commands."""

import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

from bert_cli import MaskFiller
from bert_cli.base.head_types import CLASSIFIER, TAGGER, HeadSpec
from bert_cli.base.spec import INPUTS
from bert_cli.engines.table import ENGINES
from bert_cli.runtime.processor import BFLOAT16_UNITS, processor_flags
from tests.onnx.test_models import batch, likeness, oracle, weights_of

pytest.importorskip("openvino")
ENGINE = ENGINES["openvino"]
# The least cosine to the oracle.
LEAST = {"float32": 1 - 1e-9, "bfloat16": 0.9995}
HAS_BFLOAT16 = bool(BFLOAT16_UNITS & processor_flags())
each_precision = pytest.mark.parametrize("precision", LEAST)


@each_precision
@pytest.mark.parametrize("act", ["gelu", "relu"])
def test_all_layers_and_the_pooler(act, precision):
    config, plain, weights = weights_of(hidden_act=act)
    inputs = batch()
    wanted = oracle(plain, weights, inputs)
    found = ENGINE.encoder(precision, weights, config, range(4))(inputs)
    for number, state in enumerate([wanted["embedding_output"], *wanted["encoder_outputs"]]):
        assert found[f"state_{number}"].dtype == np.float32
        assert likeness(found[f"state_{number}"], state) > LEAST[precision], number
    pooled = ENGINE.encoder(precision, weights, config, ())(inputs)["pooled_output"]
    assert likeness(pooled, wanted["pooled_output"]) > LEAST[precision]


@each_precision
def test_texts_of_different_lengths_in_one_batch(precision):
    config, plain, weights = weights_of()
    lengths, inputs = (12, 9, 4), batch(3)
    inputs[INPUTS[1]] = (np.arange(12) < np.array(lengths)[:, None]).astype(np.int32)
    found = ENGINE.encoder(precision, weights, config, [3])(inputs)["state_0"]
    for row, length in enumerate(lengths):
        wanted = oracle(plain, weights, {name: values[row : row + 1, :length] for name, values in inputs.items()})
        assert likeness(found[row, :length], wanted["sequence_output"][0]) > LEAST[precision]


@pytest.mark.skipif(not HAS_BFLOAT16, reason="this processor has no units for bfloat16")
def test_bfloat16_is_computed_in_bfloat16(caplog):
    config, _, weights = weights_of()
    exact, coarse = (ENGINE.encoder(precision, weights, config, [3])(batch())["state_0"] for precision in LEAST)
    assert np.abs(exact - coarse).max() > 1e-4
    assert "no units for bfloat16" not in caplog.text


def test_attention():
    """Probabilities in float32, of all layers."""
    config, _, weights = weights_of()
    engines = [ENGINES[name] for name in ("openvino", "onnxruntime")]
    ours, plain = (engine.encoder("float32", weights, config, [3], attention=True)(batch()) for engine in engines)
    assert ours.keys() >= {"attention_0", "attention_1", "attention_2"}
    for name, values in plain.items():
        np.testing.assert_allclose(ours[name], values, atol=1e-5)


@pytest.mark.parametrize("head", [HeadSpec(CLASSIFIER, 3), HeadSpec(TAGGER, 3)])
def test_logits(head):
    config, _, weights = weights_of()
    rng = np.random.default_rng(7)
    tensors = weights | {
        name: rng.normal(size=shape).astype(np.float32) for name, shape in head.shapes(config.hidden_size).items()
    }
    engines = [ENGINES[name] for name in ("openvino", "onnxruntime")]
    ours, plain = (engine.logits("float32", tensors, config, head)(batch())["logits"] for engine in engines)
    np.testing.assert_allclose(ours, plain, atol=1e-5)


def test_calls_from_several_threads():
    config, _, weights = weights_of()
    run = ENGINE.encoder("float32", weights, config, [3])
    batches = [batch(rows, length) for rows, length in ((6, 12), (3, 7), (5, 9))]
    wanted = [run(each)["state_0"] for each in batches]
    found: dict[int, list[np.ndarray]] = {}

    def call(number: int) -> None:
        found[number] = [run(batches[number])["state_0"] for _ in range(20)]

    threads = [threading.Thread(target=call, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, states in found.items():
        assert all(np.array_equal(state, wanted[number]) for state in states)
    assert len(found) == 3


def test_masked_words():
    """Of the built-in model, with a next-sentence head."""
    text = "the dog [MASK] in the garden ."
    ours, plain = (
        MaskFiller.load(engine=engine, precision="float32").fill(text)["masks"][0]
        for engine in ("openvino", "onnxruntime")
    )
    assert [each["token"] for each in ours] == [each["token"] for each in plain]
    np.testing.assert_allclose(*([each["probability"] for each in found] for found in (ours, plain)), atol=1e-5)


def test_a_missing_package_is_one_line(tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("a bird\n", encoding="utf-8")
    code = (
        "import sys; sys.modules['openvino'] = None; from bert_cli.extract_features import main\n"
        f"sys.exit(main(['--engine=openvino', '--input_file={lines}', '--output_file={tmp_path / 'out.jsonl'}']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "bert-extract-features: error: --engine=openvino needs the package openvino: pip install 'bert_cli[openvino]'"
    )
    assert [path.name for path in pathlib.Path(tmp_path).iterdir()] == ["lines.txt"]
