"""ELECTRA folders of Hugging Face in the commands."""

import json

import numpy as np
import pytest
from plain_electra import (
    class_logits,
    random_discriminator_head,
    random_generator_head,
    random_tensors,
    replaced_logits,
    states,
    word_logits,
)
from safetensors.numpy import load_file, save_file

from bert_cli.base.head_types import CLASSIFIER, MASKED_LM, REPLACED_TOKENS, HeadSpec
from bert_cli.engines.table import ENGINES
from bert_cli.model.config import read_config
from bert_cli.weights.path import find_checkpoint
from tests.commands.convert_run import TOKENS, convert

# Of Keras, see test_convert.py.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

SIZES = {
    "embedding_size": 8,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}
LABELS = ("no", "so-so", "yes")


def make_folder(parent, architecture, tensors):
    path = parent / "electra"
    path.mkdir()
    values = SIZES | {"model_type": "electra", "max_position_embeddings": 12, "vocab_size": len(TOKENS)}
    values |= {"architectures": [architecture]}
    if architecture == "ElectraForSequenceClassification":
        values["id2label"] = dict(enumerate(LABELS))
    (path / "config.json").write_text(json.dumps(values))
    (path / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    return path


@pytest.fixture
def classifier(tmp_path):
    """An ElectraForSequenceClassification, and its tensors."""
    tensors = random_tensors(5, 3, words=len(TOKENS))
    return make_folder(tmp_path, "ElectraForSequenceClassification", tensors), tensors


def encoder_tensors():
    return {name: values for name, values in random_tensors(5, 3, len(TOKENS)).items() if "classifier" not in name}


def batch(texts=4, width=10, seed=0):
    rng = np.random.default_rng(seed)
    mask = (np.arange(width) < np.arange(width, width - texts, -1)[:, None]).astype(np.int32)
    words = rng.integers(5, len(TOKENS), mask.shape, dtype=np.int32) * mask
    return {"input_word_ids": words, "input_mask": mask, "input_type_ids": mask * (words % 2)}


def encoded(tensors, inputs):
    return states(tensors, 2, inputs["input_word_ids"], inputs["input_mask"], inputs["input_type_ids"])


def test_class_logits_of_every_engine(classifier):
    from bert_cli.exports.loaded import load_head_model, open_source

    path, tensors = classifier
    spec, config = HeadSpec(CLASSIFIER, 3), read_config(str(path / "config.json"))
    loaded = load_head_model(open_source(find_checkpoint(str(path))), config, spec)
    assert (loaded.report.missing, loaded.report.unused) == ([], [])
    inputs = batch()
    wanted = class_logits(tensors, encoded(tensors, inputs))
    assert np.ptp(wanted) > 1
    np.testing.assert_allclose(loaded.model(inputs), wanted, atol=1e-5)
    np.testing.assert_allclose(loaded.model(inputs, packed=True), wanted, atol=1e-5)
    for precision, allowed in (("float32", 1e-5), ("int8", 0.4)):
        network = ENGINES["onnxruntime"].logits(precision, loaded.tensors, config, spec)
        for row, logits in enumerate(wanted):
            one = {name: values[row : row + 1, : 10 - row] for name, values in inputs.items()}
            np.testing.assert_allclose(network(one)["logits"][0], logits, atol=allowed)


@pytest.mark.parametrize(
    ("architecture", "head", "random_head", "logits"),
    [
        ("ElectraForMaskedLM", MASKED_LM, random_generator_head, word_logits),
        ("ElectraForPreTraining", REPLACED_TOKENS, random_discriminator_head, replaced_logits),
    ],
)
def test_heads_of_pretraining(tmp_path, architecture, head, random_head, logits):
    from bert_cli.exports.loaded import load, open_source

    words = {"words": len(TOKENS)} if head == MASKED_LM else {}
    tensors = encoder_tensors() | random_head(6, **words)
    path = make_folder(tmp_path, architecture, tensors)
    config = read_config(str(path / "config.json"))
    loaded = load(open_source(find_checkpoint(str(path))), config, (head,), of_tokens=False)
    inputs = batch()
    real = inputs["input_mask"] > 0
    wanted = logits(tensors, encoded(tensors, inputs))
    found = loaded.model(inputs)[f"{head}_logits"].numpy()
    np.testing.assert_allclose(found[real], wanted[real], atol=3e-5)
    if head == MASKED_LM:
        network = ENGINES["onnxruntime"].masked_words("float32", loaded.tensors, config, len(TOKENS))
        masked = {"masked": np.array([[0, 3]], np.int64), "top_k": np.array([len(TOKENS)], np.int64)}
        found = network({name: values[:1] for name, values in inputs.items()} | masked)
        exact = np.exp(wanted[0, 3] - wanted[0, 3].max())
        np.testing.assert_allclose(found["probabilities"][0], np.sort(exact / exact.sum())[::-1], atol=1e-5)
    there_and_back(path, tmp_path, tensors, architecture)


def there_and_back(path, tmp_path, tensors, architecture, between="google/bert_model.ckpt"):
    report = convert(path, tmp_path / between, check=True)
    assert set(report["differences"].values()) == {0.0}
    convert(tmp_path / between, tmp_path / "back", check=True)
    written = load_file(tmp_path / "back" / "model.safetensors")
    assert {name: values.tobytes() for name, values in written.items()} == {
        name: values.tobytes() for name, values in tensors.items()
    }
    values = json.loads((tmp_path / "back" / "config.json").read_text())
    assert SIZES.items() <= values.items()
    assert values["architectures"] == [architecture]
    assert (values["model_type"], values["hidden_act"], values.get("position_embedding_type")) == (
        "electra",
        "gelu",
        None,
    )


@pytest.mark.parametrize("between", ["google/bert_model.ckpt", "keras/x.weights.h5"])
def test_there_and_back_bit_for_bit(classifier, tmp_path, between):
    path, tensors = classifier
    there_and_back(path, tmp_path, tensors, "ElectraForSequenceClassification", between)
    values = json.loads((tmp_path / "back" / "config.json").read_text())
    assert list(values["id2label"].values()) == list(LABELS)
    tokenizer = json.loads((tmp_path / "back" / "tokenizer_config.json").read_text())
    assert tokenizer["tokenizer_class"] == "ElectraTokenizer"
