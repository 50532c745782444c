"""bert-export --format=onnx --names=hugging_face: inputs, outputs and files as Optimum and transformers.js expect them."""

import json

import numpy as np
import onnx
import pytest

from bert_cli import Classifier, FeatureExtractor, Tagger
from bert_cli.export_model import main
from bert_cli.opening.tokenizer import load_tokenizer
from tests.commands.convert_run import make_source

# onnx warns of functions that it calls itself; for the second one see test_convert.py.
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*onnx.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
]
TEXTS = ["all work and no play", "jack makes a dull boy , all work .", "a boy"]
FILES = {
    "model.onnx", "config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json",
}  # fmt: skip
INPUTS = ["input_ids", "attention_mask", "token_type_ids"]


def export(source, out, *flags) -> dict:
    """Export a model, and return its config.json."""
    flags = [f"--init_checkpoint={source}", f"--export_dir={out}", "--format=onnx", "--names=hugging_face", *flags]
    assert main(flags) == 0
    return json.loads((out / "config.json").read_text(encoding="utf-8"))


def inputs_of(folder, texts, names=INPUTS) -> dict[str, np.ndarray]:
    """Return a batch of texts by the tokenizer.json of an export."""
    tokenizer = load_tokenizer(vocab_file=str(folder / "tokenizer.json"))
    rows = [[2, *tokenizer.encode(text), 3] for text in texts]
    width = max(map(len, rows))
    ids = np.array([row + [0] * (width - len(row)) for row in rows], np.int64)
    mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in rows], np.int64)
    return {name: {"input_ids": ids, "attention_mask": mask}.get(name, np.zeros_like(ids)) for name in names}


def outputs_of(path, inputs) -> dict[str, np.ndarray]:
    """Run a file with onnxruntime on int64 inputs, which must be all that it has."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    assert {(each.name, each.type) for each in session.get_inputs()} == {(name, "tensor(int64)") for name in inputs}
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def softmax(logits: np.ndarray) -> np.ndarray:
    exact = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exact / exact.sum(axis=-1, keepdims=True)


def sigmoid(logits: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-logits))


@pytest.mark.parametrize(("problem_type", "probabilities"), [("single_label", softmax), ("multi_label", sigmoid)])
def test_a_classifier(tmp_path, problem_type, probabilities):
    labels = ("no", "so-so", "yes")
    source, _ = make_source(tmp_path, ("classifier",), labels)
    (source / "flags.txt").write_text(f"--problem_type={problem_type}\n--max_seq_length=11\n")
    config = export(source, tmp_path / "out", "--quantize=int8")
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES | {"model_int8.onnx"}
    assert config["architectures"] == ["BertForSequenceClassification"]
    assert config["problem_type"] == f"{problem_type}_classification"
    assert config["id2label"] == {str(number): label for number, label in enumerate(labels)}
    stored = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert (stored["tokenizer_class"], stored["model_max_length"]) == ("BertTokenizer", 11)
    inputs = inputs_of(tmp_path / "out", TEXTS)
    expected = Classifier.load(str(source), precision="float32").predict(TEXTS).probabilities
    outputs = outputs_of(tmp_path / "out" / "model.onnx", inputs)
    assert list(outputs) == ["logits"]
    assert outputs["logits"].dtype == np.float32
    np.testing.assert_allclose(probabilities(outputs["logits"]), expected, atol=1e-5)
    quantized = outputs_of(tmp_path / "out" / "model_int8.onnx", inputs)["logits"]
    assert 0 < np.abs(probabilities(quantized) - expected).max() < 0.3
    metadata = {each.key: each.value for each in onnx.load(str(tmp_path / "out" / "model.onnx")).metadata_props}
    assert (metadata["kind"], metadata["problem_type"]) == ("classifier", problem_type)


def test_a_regression_and_labels_without_names(tmp_path):
    source, tensors = make_source(tmp_path, ("classifier",))
    assert list(export(source, tmp_path / "three")["id2label"].values()) == ["LABEL_0", "LABEL_1", "LABEL_2"]
    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    tensors |= {name: tensors[name][:1] for name in ("output_weights", "output_bias")}
    write_tf1(str(source / "bert_model.ckpt"), tensors)
    (source / "flags.txt").write_text("--problem_type=regression\n--max_seq_length=12\n")
    config = export(source, tmp_path / "out")
    assert (config["problem_type"], config["id2label"]) == ("regression", {"0": "LABEL_0"})
    logits = outputs_of(tmp_path / "out" / "model.onnx", inputs_of(tmp_path / "out", TEXTS))["logits"]
    expected = Classifier.load(str(source), precision="float32").predict(TEXTS).values
    np.testing.assert_allclose(logits, expected[:, np.newaxis], atol=1e-5)


def test_calibrated_probabilities(tmp_path):
    """The logits are divided by the temperature, so other programs compute the probabilities of bert-classify."""
    source, _ = make_source(tmp_path, ("classifier",), ("no", "so-so", "yes"))
    (source / "flags.txt").write_text("--problem_type=single_label\n--max_seq_length=12\n")
    plain = Classifier.load(str(source), precision="float32").predict(TEXTS).probabilities
    (source / "calibration.json").write_text(json.dumps({"problem_type": "single_label", "temperature": 2.0}))
    calibrated = Classifier.load(str(source), precision="float32").predict(TEXTS).probabilities
    export(source, tmp_path / "out")
    logits = outputs_of(tmp_path / "out" / "model.onnx", inputs_of(tmp_path / "out", TEXTS))["logits"]
    np.testing.assert_allclose(softmax(logits), calibrated, atol=1e-5)
    np.testing.assert_allclose(softmax(logits * 2), plain, atol=1e-5)


def test_a_tagger(tmp_path):
    labels = ("O", "B-X", "I-X")
    source, _ = make_source(tmp_path, ("classifier",), labels)
    (source / "flags.txt").write_text("--tag_scheme=BIO\n--layers=-1\n--max_seq_length=12\n")
    config = export(source, tmp_path / "out")
    assert config["architectures"] == ["BertForTokenClassification"]
    assert config["id2label"] == {str(number): label for number, label in enumerate(labels)}
    inputs = inputs_of(tmp_path / "out", TEXTS)
    logits = outputs_of(tmp_path / "out" / "model.onnx", inputs)["logits"]
    expected = tagger_logits(source, inputs)
    real = inputs["attention_mask"] > 0
    np.testing.assert_allclose(logits[real], expected[real], atol=1e-5)
    tags = [tagged.tags for tagged in Tagger.load(str(source), precision="float32").tag(TEXTS)]
    best = [
        [labels[index] for index in row[1 : 1 + len(own)].argmax(axis=-1)]
        for row, own in zip(logits, tags, strict=True)
    ]
    assert best == [list(own) for own in tags]


def tagger_logits(source, inputs) -> np.ndarray:
    from bert_cli.base.head_types import TAGGER, HeadSpec
    from bert_cli.base.spec import INPUTS as GOOGLE
    from bert_cli.exports.loaded import load_head_model
    from bert_cli.model.config_files import read_config
    from bert_cli.weights.checkpoint import open_source
    from bert_cli.weights.path import find_checkpoint

    reader = open_source(find_checkpoint(str(source)))
    model = load_head_model(reader, read_config(str(source / "bert_config.json")), HeadSpec(TAGGER, 3)).model
    return model({own: inputs[name].astype(np.int32) for own, name in zip(GOOGLE, INPUTS, strict=True)}).numpy()


@pytest.mark.parametrize("pooler", [True, False])
def test_vectors(tmp_path, pooler):
    source, _ = make_source(tmp_path, (), pooler=pooler)
    config = export(source, tmp_path / "out")
    assert config["architectures"] == ["BertModel"]
    assert json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())["model_max_length"] == 12
    assert "id2label" not in config
    inputs = inputs_of(tmp_path / "out", TEXTS)
    outputs = outputs_of(tmp_path / "out" / "model.onnx", inputs)
    assert list(outputs) == ["last_hidden_state", *["pooler_output"] * pooler]
    states = outputs["last_hidden_state"]
    extractor = FeatureExtractor.load(str(source), precision="float32", max_seq_length=12, layers="-1", pooling="none")
    for row, features in zip(states, extractor.extract(TEXTS), strict=True):
        np.testing.assert_allclose(row[: len(features.tokens)], features.vectors, atol=1e-5)


def test_answers_and_a_network_without_token_types(tmp_path):
    source, _ = make_source(tmp_path, ("spans",))
    export(source, tmp_path / "out", "--max_seq_length=12")
    outputs = outputs_of(tmp_path / "out" / "model.onnx", inputs_of(tmp_path / "out", TEXTS))
    assert list(outputs) == ["start_logits", "end_logits"]
    network = {"model_type": "distilbert", "type_vocab_size": 0, "gelu": "erf"}
    source, _ = make_source(tmp_path, (), name="distilbert", pooler=False, **network)
    export(source, tmp_path / "distilled", "--max_seq_length=12")
    inputs = inputs_of(tmp_path / "distilled", TEXTS, INPUTS[:2])
    assert list(outputs_of(tmp_path / "distilled" / "model.onnx", inputs)) == ["last_hidden_state"]
