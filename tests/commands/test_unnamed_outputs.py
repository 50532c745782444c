"""Hugging Face classifiers without label names in config.json, or with a number as output."""

import json
import pathlib

import numpy as np
import pytest

from bert_cli import Classifier
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER
from bert_cli.model.config import BertConfig, encoder_shapes
from bert_cli.model.config_files import hugging_face_config, read_config, read_cross_encoder_activation
from bert_cli.serving.items import Item
from bert_cli.serving.loading import load_served
from bert_cli.settings.answering import ModelFlags
from bert_cli.weights.hugging_face import write_safetensors
from bert_cli.weights.path import find_checkpoint
from tests.commands.conftest import CONFIG, write_model
from tests.snapshots import check_message, raises

PAIR = ("the old farmer buys bread .", "a teacher sings")
NAMELESS = [None, {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}]


@pytest.fixture
def hugging_face(tmp_path):
    """hugging_face(outputs, **config) -> directory with random weights; None removes a key."""

    def write(outputs: int, **values: object):
        folder = tmp_path / f"outputs_{outputs}"
        folder.mkdir()
        write_model(folder, CONFIG)
        config: BertConfig = read_config(str(folder / "bert_config.json"))
        (folder / "bert_config.json").unlink()
        rng = np.random.default_rng(outputs)
        shapes = encoder_shapes(config) | {"output_weights": (outputs, config.hidden_size), "output_bias": (outputs,)}
        tensors = {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
        write_safetensors(str(folder / "model.safetensors"), tensors, CLASSIFIER)
        merged = hugging_face_config(config, CLASSIFIER, None) | values
        (folder / "config.json").write_text(
            json.dumps({key: value for key, value in merged.items() if value is not None})
        )
        return folder

    return write


def answer(classify, folder, *flags: str):
    """Return the outcome, and the JSON line that it prints."""
    outcome = classify(f"--init_checkpoint={folder}", f"--output_dir={folder}/out", "--max_seq_length=16", *flags)
    assert outcome.code == 0, outcome
    return outcome, json.loads(outcome.out)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"id2label": {"0": "LABEL_0"}},
        {"id2label": {"0": "relevance"}},
        {"problem_type": "single_label_classification"},
        {"problem_type": "regression", "id2label": {"0": "score"}},
        {"architectures": None},
    ],
)
def test_one_output_is_a_number(classify, hugging_face, config):
    folder = hugging_face(1, **config)
    outcome, record = answer(classify, folder, f"--text={PAIR[0]}", f"--text_b={PAIR[1]}")
    model = Classifier.load(str(folder), max_seq_length=16)
    assert (model.problem_type, model.labels) == ("regression", ())
    assert record == {"index": 0, "text": PAIR[0], "text_b": PAIR[1], "value": record["value"]}
    np.testing.assert_allclose(model.predict([PAIR]).values, [record["value"]], rtol=1e-5)
    if config.get("problem_type") != "regression":
        check_message(outcome.lines, f"{folder}: ")


def test_labels_of_a_number_are_refused(classify, hugging_face):
    folder = hugging_face(1)
    flags = [f"--init_checkpoint={folder}", f"--output_dir={folder}/out", "--max_seq_length=16", "--text=bread"]
    classify(*flags, "--labels=x").assert_refused("--labels: ")
    classify(*flags, "--labels=x", "--problem_type=single_label").assert_refused()
    with raises(InputError):
        Classifier.load(str(folder), labels=["x"])


def test_one_output_of_a_multi_label_model_stays_a_probability(hugging_face):
    folder = hugging_face(1, problem_type="multi_label_classification", id2label={"0": "toxic"})
    model = Classifier.load(str(folder))
    assert (model.problem_type, model.labels) == ("multi_label", ("toxic",))


@pytest.mark.parametrize("id2label", NAMELESS)
def test_labels_without_names_are_called_as_in_transformers(classify, hugging_face, id2label):
    folder = hugging_face(3, id2label=id2label)
    outcome, record = answer(classify, folder, "--text=bread")
    assert list(record["probabilities"]) == ["LABEL_0", "LABEL_1", "LABEL_2"]
    warning = (
        f"warning: {folder}: config.json does not name the labels, so they are called LABEL_0, LABEL_1, LABEL_2, as in "
        "transformers; name all 3 in this order with --labels (in Python labels=[…]), or as id2label in config.json"
    )
    assert outcome.lines.count(warning) == 1
    assert Classifier.load(str(folder)).labels == ("LABEL_0", "LABEL_1", "LABEL_2")


def test_labels_without_names_in_tables(classify, hugging_face, tmp_path):
    folder = hugging_face(2)
    table = tmp_path / "t.csv"
    table.write_text("text,label\nbread,good\nmilk,bad\n")
    flags = [f"--init_checkpoint={folder}", f"--output_dir={tmp_path}/out", "--max_seq_length=16"]
    assert classify(*flags, "--do_predict", f"--predict_file={table}").code == 0
    header = (tmp_path / "out" / "predictions.tsv").read_text().split("\n")[0]
    assert header.split("\t") == ["id", "label", "prob_LABEL_0", "prob_LABEL_1", "text"]
    shards = [f"{tmp_path}/part{number}.csv" for number in (1, 2)]
    for shard in shards:
        pathlib.Path(shard).write_text("text\nbread\n")
    assert classify(*flags, "--do_predict", f"--predict_file={','.join(shards)}").code == 0
    assert "LABEL_0" in (tmp_path / "out" / "predictions.tsv-00000-of-00002").read_text()
    classify(*flags, "--do_eval", f"--dev_file={table}").assert_refused("t.csv:2: ", "LABEL_0")


def test_names_of_the_flag_come_first_and_are_counted(classify, hugging_face):
    folder = hugging_face(3)
    _, record = answer(classify, folder, "--text=bread", "--labels=c,a,b")
    assert list(record["probabilities"]) == ["c", "a", "b"]
    flags = [f"--init_checkpoint={folder}", f"--output_dir={folder}/out", "--max_seq_length=16", "--text=bread"]
    message = f"2 names, but the classifier in {folder} has 3 outputs; name all of them, in their order"
    classify(*flags, "--labels=x,y").assert_refused(f"--labels=x,y: {message}")
    with pytest.raises(InputError, match="2 names, but"):
        Classifier.load(str(folder), labels=["x", "y"])


@pytest.mark.parametrize(
    ("values", "activation"),
    [
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}}, "Sigmoid"),
        ({"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}}, None),
        ({"sbert_ce_default_activation_function": "torch.nn.modules.activation.Tanh"}, "Tanh"),
        ({"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"}, None),
        ({"sentence_transformers": ["x"], "sbert_ce_default_activation_function": 3}, None),
        ({}, None),
    ],
)
def test_the_function_of_sentence_transformers_is_named(classify, hugging_face, values, activation):
    folder = hugging_face(1, **values)
    assert read_cross_encoder_activation(str(folder / "config.json")) == activation
    outcome, _ = answer(classify, folder, "--text=bread")
    note = f"its logit, before the {activation} that sentence-transformers applies to it"
    assert any(line.endswith(note if activation else "its logit") for line in outcome.lines)


@pytest.mark.parametrize(
    ("outputs", "model_kind", "labels", "key"),
    [(1, "regression", [], "value"), (2, "classifier", ["LABEL_0", "LABEL_1"], "probabilities")],
)
def test_the_server_serves_them(hugging_face, outputs, model_kind, labels, key):
    model = load_served("m", ModelFlags(), find_checkpoint(str(hugging_face(outputs))))
    assert (model.kind, model.labels) == (model_kind, labels)
    assert key in model.answer([Item(*PAIR)])[0]
