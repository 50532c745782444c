"""bert-export: vectors of texts, with the numbers that sentence-transformers and the commands give."""

import json
import subprocess
import sys

import numpy as np
import pytest

from bert_cli import FeatureExtractor
from bert_cli.export_model import main
from bert_cli.features.packing import pack
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary
from tests.commands import helpers
from tests.commands.test_export import SERVE
from tests.sentence_cases import CASES, PROMPTS, TEXTS, expected_vectors, folder_of
from tests.snapshots import check_message

pytestmark = [
    # onnx warns about functions that it calls itself.
    pytest.mark.filterwarnings("ignore:.*onnx.*:DeprecationWarning"),
]
FAST = {"chain", "without_prompt_tokens", "named_prompt"}
CASES_OF_SAVED_MODELS = [
    pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in CASES
]  # a SavedModel takes seconds to trace


def export(folder, out, *flags) -> None:
    assert main([f"--init_checkpoint={folder}", f"--export_dir={out}", *map(str, flags)]) == 0


def prompt_flags(name) -> list[str]:
    prompt_name = CASES[name].get("prompt_name")
    return [f"--prompt_name={prompt_name}"] if prompt_name else []


def id_inputs(folder, texts, prompt="", max_seq_length=64) -> dict[str, np.ndarray]:
    """Return the inputs that a program makes that has only the exported files."""
    tokenizer = FullTokenizer(read_vocabulary(str(folder / "vocab.txt")))
    cls_id, sep_id = tokenizer.ids["[CLS]"], tokenizer.ids["[SEP]"]
    rows = [pack(tokenizer.encode(prompt + text), None, max_seq_length, cls_id, sep_id).token_ids for text in texts]
    inputs = {name: np.zeros((len(rows), max(map(len, rows))), np.int32) for name in ("input_word_ids", "input_mask")}
    for number, row in enumerate(rows):
        inputs["input_word_ids"][number, : len(row)] = row
        inputs["input_mask"][number, : len(row)] = 1
    return inputs | {"input_type_ids": np.zeros_like(inputs["input_mask"])}


def run_onnx(path, inputs) -> dict[str, np.ndarray]:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def serve(folder, **texts) -> dict[str, np.ndarray]:
    import tensorflow as tf

    serving = tf.saved_model.load(str(folder)).signatures["serving_default"]
    outputs = serving(**{name: tf.constant(values) for name, values in texts.items()})
    return {name: values.numpy() for name, values in outputs.items()}


@pytest.mark.parametrize("name", CASES)
def test_onnx(name, tmp_path):
    out = tmp_path / "out"
    export(folder_of(name, tmp_path / "m"), out, "--format=onnx", *prompt_flags(name))
    import onnx

    metadata = {entry.key: entry.value for entry in onnx.load(str(out / "model.onnx")).metadata_props}
    inputs = id_inputs(out, TEXTS, metadata.get("prompt", ""), int(metadata["max_seq_length"]))
    outputs = run_onnx(out / "model.onnx", inputs)
    assert "sequence_output" in outputs
    np.testing.assert_allclose(outputs["sentence_embedding"], expected_vectors(name), atol=1e-5)
    assert metadata.get("prompt", "") == PROMPTS["prompts"].get(CASES[name].get("prompt_name", "query"), "") * (
        "prompt" in name
    )


@pytest.mark.parametrize("name", CASES_OF_SAVED_MODELS)
def test_saved_model(name, tmp_path):
    out = tmp_path / "out"
    export(folder_of(name, tmp_path / "m"), out, *prompt_flags(name))
    outputs = serve(out, text=TEXTS)
    assert outputs.keys() == {"sentence_embedding"}
    np.testing.assert_allclose(outputs["sentence_embedding"], expected_vectors(name), atol=1e-5)


def test_a_classifier_gives_vectors_of_pairs(trained, tmp_path, capfd):
    """--pooling chooses vectors of any model; both signatures and ONNX agree with the commands."""
    import tensorflow as tf

    export(trained, tmp_path / "out", "--pooling=cls,mean", "--normalize", "--pairs=yes", "--max_seq_length=12")
    check_message(capfd.readouterr().err, "vectors of 32 numbers")
    extractor = FeatureExtractor.load(
        str(trained), pooling="cls,mean", normalize=True, max_seq_length=12, precision="float32"
    )
    pairs = [("a dog", "a cat"), ("the old farmer buys bread and paints our house", "the dog sings in the garden")]
    outputs = serve(tmp_path / "out", text=[a for a, _ in pairs], text_b=[b for _, b in pairs])
    np.testing.assert_allclose(outputs["sentence_embedding"], extractor.extract(pairs), atol=1e-5)
    texts = ["a dog", "", "cat " * 30]
    inputs = id_inputs(trained, texts, max_seq_length=12)
    expected = extractor.extract(texts)
    by_ids = tf.saved_model.load(str(tmp_path / "out")).signatures["token_ids"]
    vectors = by_ids(**{name: tf.constant(values) for name, values in inputs.items()})["sentence_embedding"]
    np.testing.assert_allclose(vectors.numpy(), expected, atol=1e-5)
    export(trained, tmp_path / "onnx", "--format=onnx", "--pooling=cls,mean", "--normalize", "--quantize=int8")
    outputs = run_onnx(tmp_path / "onnx" / "model.onnx", inputs)
    np.testing.assert_allclose(outputs["sentence_embedding"], expected, atol=1e-5)
    # The modules next to the file describe the same vectors.
    again = FeatureExtractor.load(str(trained), pooling="cls,mean", normalize=True, precision="float32")
    modules = json.loads((tmp_path / "onnx" / "modules.json").read_text())
    assert [module["type"].rpartition(".")[2] for module in modules] == ["Transformer", "Pooling", "Normalize"]
    quantized = run_onnx(tmp_path / "onnx" / "model_int8.onnx", inputs)["sentence_embedding"]
    assert 0 < np.abs(quantized - again.extract(texts)).max() < 0.1


@pytest.mark.parametrize("pooling", ["pooler", "max"])
def test_onnx_poolings_without_modules(trained, tmp_path, pooling):
    export(trained, tmp_path / "out", "--format=onnx", f"--pooling={pooling}", "--names=hugging_face")
    inputs = id_inputs(trained, ["a dog", "the old farmer"])
    names = ("input_ids", "attention_mask", "token_type_ids")
    renamed = {name: values.astype(np.int64) for name, values in zip(names, inputs.values(), strict=True)}
    outputs = run_onnx(tmp_path / "out" / "model.onnx", renamed)
    assert outputs.keys() == {"last_hidden_state", "pooler_output", "sentence_embedding"}
    expected = FeatureExtractor.load(str(trained), pooling=pooling, precision="float32").extract(
        ["a dog", "the old farmer"]
    )
    np.testing.assert_allclose(outputs["sentence_embedding"], expected, atol=1e-5)


@pytest.mark.slow
def test_without_this_package(tmp_path):
    names = ("dense", "without_prompt_tokens")
    for name in names:
        export(folder_of(name, tmp_path / f"{name}_model"), tmp_path / name)
    process = subprocess.run(
        [sys.executable, "-c", SERVE, *(str(tmp_path / name) for name in names)],
        input=json.dumps({"text": TEXTS}),
        capture_output=True,
        check=True,
        text=True,
        cwd=tmp_path,
    )
    for name, outputs in zip(names, json.loads(process.stdout), strict=True):
        np.testing.assert_allclose(outputs["sentence_embedding"], expected_vectors(name), atol=1e-5)


@pytest.fixture
def refused(capfd, tmp_path):
    def check(folder, *flags_and_fragments):
        *flags, fragment = flags_and_fragments
        flags = [f"--init_checkpoint={folder}", f"--export_dir={tmp_path / 'out'}", *flags]
        helpers.call(capfd, "bert-export", main, *flags).assert_refused(fragment)
        assert not (tmp_path / "out").exists()

    return check


def test_refusals(trained, tmp_path, refused):
    refused(trained, "--prompt_name=query", "--prompt_name=query: ")
    refused(trained, "--pooling=none", "--pooling=none")
    refused(trained, "--pooling=mean,sum", "--pooling=mean,sum")
    folder = folder_of("mean", tmp_path / "m")
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 16, "do_lower_case": true}')
    refused(folder, "do_lower_case")
    refused(folder, "--labels=a,b", "has no classifier")
