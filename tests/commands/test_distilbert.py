"""Hugging Face's DistilBERT directories in the commands."""

import json

import numpy as np
import pytest
from plain_distilbert import class_logits, random_tensors
from safetensors.numpy import load_file, save_file

from bert_cli.base.head_types import CLASSIFIER, HeadSpec
from bert_cli.model.config_files import read_config
from bert_cli.onnx.bert import FLAT
from bert_cli.onnx.runners import logits_runner
from bert_cli.weights.path import find_checkpoint
from tests.commands.convert_run import TOKENS, assert_same_outputs, convert, make_source, refused, there_and_back
from tests.rows import write_rows
from tests.snapshots import check_message

# Keras causes this warning, see test_convert.py.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")

CONFIG = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "activation": "gelu", "vocab_size": len(TOKENS)}
LABELS = ("no", "so-so", "yes")


@pytest.fixture
def folder(tmp_path):
    """A DistilBertForSequenceClassification, and its tensors."""
    path, tensors = tmp_path / "distilbert", random_tensors(5, 3, words=len(TOKENS))
    path.mkdir()
    values = CONFIG | {"model_type": "distilbert", "max_position_embeddings": 12}
    values |= {"architectures": ["DistilBertForSequenceClassification"], "id2label": dict(enumerate(LABELS))}
    (path / "config.json").write_text(json.dumps(values))
    write_rows(path / "vocab.txt", TOKENS)
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    return path, tensors


def batch(texts=4, width=10, seed=0):
    rng = np.random.default_rng(seed)
    mask = (np.arange(width) < np.arange(width, width - texts, -1)[:, None]).astype(np.int32)
    words = rng.integers(5, len(TOKENS), mask.shape, dtype=np.int32) * mask
    return {"input_word_ids": words, "input_mask": mask, "input_type_ids": mask}


def test_logits_of_every_engine(folder):
    from bert_cli.exports.loaded import load_head_model
    from bert_cli.weights.checkpoint import open_source

    path, tensors = folder
    spec, config = HeadSpec(CLASSIFIER, 3), read_config(str(path / "config.json"))
    loaded = load_head_model(open_source(find_checkpoint(str(path))), config, spec)
    assert (loaded.report.missing, loaded.report.unused) == ([], [])
    inputs = batch()
    expected = class_logits(tensors, 2, inputs["input_word_ids"], inputs["input_mask"])
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(loaded.model(inputs), expected, atol=1e-5)
    np.testing.assert_allclose(loaded.model(inputs, packed=True), expected, atol=1e-5)
    network = logits_runner(FLAT, loaded.tensors, config, spec)
    for row, logits in enumerate(expected):
        single_row = {name: values[row : row + 1, : 10 - row] for name, values in inputs.items()}
        np.testing.assert_allclose(network(single_row)["logits"][0], logits, atol=1e-5)


@pytest.mark.parametrize(
    "between", ["google/bert_model.ckpt", pytest.param("keras/x.weights.h5", marks=pytest.mark.slow)]
)
def test_there_and_back_bit_for_bit(folder, tmp_path, between):
    path, tensors = folder
    values = there_and_back(path, tmp_path, tensors, between)
    assert CONFIG.items() <= values.items()
    assert values["architectures"] == ["DistilBertForSequenceClassification"]
    assert list(values["id2label"].values()) == list(LABELS)
    assert not {"hidden_size", "type_vocab_size", "layer_norm_eps", "hidden_act"} & values.keys()
    tokenizer = json.loads((tmp_path / "back" / "tokenizer_config.json").read_text())
    assert tokenizer["tokenizer_class"] == "DistilBertTokenizer"


def test_no_class_with_next_sentences(tmp_path, capfd):
    """bert-pretrain also trains that head; the masked-LM head is converted without it."""
    network = {"model_type": "distilbert", "type_vocab_size": 0, "gelu": "erf", "num_hidden_layers": 1}
    source, _ = make_source(tmp_path, ("masked_lm", "next_sentence"), **network)
    convert(source, tmp_path / "hf", check=True)
    assert "vocab_transform.weight" in load_file(tmp_path / "hf" / "model.safetensors")
    flags = (f"--from={source}", f"--to={tmp_path / 'hf2'}", "--head=pretraining")
    check_message(refused(capfd, *flags))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("heads", "labels", "architecture"),
    [
        ((), (), "DistilBertModel"),
        (("masked_lm",), (), "DistilBertForMaskedLM"),
        (("classifier",), LABELS, "DistilBertForSequenceClassification"),
        (("classifier",), ("O", "B-X", "I-X"), "DistilBertForTokenClassification"),
        (("spans",), (), "DistilBertForQuestionAnswering"),
    ],
)
def test_transformers_agree_on_distilbert(tmp_path, heads, labels, architecture):
    transformers = pytest.importorskip("transformers", reason="needs transformers, which is not part of the project")
    torch = pytest.importorskip("torch", reason="needs torch, which is not part of the project")
    from bert_cli.exports.loaded import build_network
    from bert_cli.weights.checkpoint import open_source, read_with_heads

    network = {"model_type": "distilbert", "type_vocab_size": 0, "gelu": "erf"}
    source, _ = make_source(tmp_path, heads, labels, **network)
    convert(source, tmp_path / "hf")
    theirs, info = getattr(transformers, architecture).from_pretrained(tmp_path / "hf", output_loading_info=True)
    assert not any(info.values())
    reader = open_source(find_checkpoint(str(source)))
    config = read_config(str(source / "bert_config.json"))
    weights = read_with_heads(reader, config, heads)
    ours = build_network(config, heads, weights.tensors, "Token" in architecture)
    inputs = batch(texts=8)
    names = {"masked_lm": "masked_lm_logits", "classifier": "classifier_logits", "spans": "span_logits"}
    outputs = ours(inputs)[names[heads[0]] if heads else "sequence_output"].numpy()
    words, mask = (torch.tensor(inputs[name]).long() for name in ("input_word_ids", "input_mask"))
    with torch.no_grad():
        their_outputs = [output.numpy() for output in theirs.eval()(words, attention_mask=mask).to_tuple()]
    assert_same_outputs(their_outputs, outputs if "spans" in heads else [outputs], inputs["input_mask"])
