"""bert-export --format=onnx: onnxruntime gives the commands' numbers; int8; other files; refusals."""

import json
import pathlib

import numpy as np
import pandas as pd
import pytest

from bert_cli import run_tagging
from bert_cli.export_model import main
from bert_cli.features.packing import pack
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary
from tests.commands import squad_run
from tests.commands.helpers import as_problem
from tests.snapshots import check_message

pytestmark = [
    # onnx warns about functions that it calls itself.
    pytest.mark.filterwarnings("ignore:.*onnx.*:DeprecationWarning"),
]
FILES = {"model.onnx", "vocab.txt", "labels.txt", "bert_config.json", "tokenizer_config.json"}


@pytest.fixture
def trained(trained_two_layers) -> pathlib.Path:
    """Two layers, since a format may mix them up."""
    return trained_two_layers


def export(*flags) -> int:
    return main([str(flag) for flag in flags])


def run(path, inputs: dict) -> dict:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    input_names = {graph_input.name for graph_input in session.get_inputs()}
    fed = {name: values for name, values in inputs.items() if name in input_names}
    return dict(zip(names, session.run(names, fed), strict=True))


def inputs_of(folder, texts) -> dict[str, np.ndarray]:
    """Return model inputs as a program would make them that has only the exported files."""
    tokenizer = FullTokenizer(read_vocabulary(str(folder / "vocab.txt")))
    packed = [pack(tokenizer.encode(text), None, 32, tokenizer.ids["[CLS]"], tokenizer.ids["[SEP]"]) for text in texts]
    width = max(len(row_inputs.token_ids) for row_inputs in packed)
    inputs = {
        name: np.zeros((len(texts), width), np.int32) for name in ("input_word_ids", "input_mask", "input_type_ids")
    }
    for row, row_inputs in enumerate(packed):
        inputs["input_word_ids"][row, : len(row_inputs.token_ids)] = row_inputs.token_ids
        inputs["input_mask"][row, : len(row_inputs.token_ids)] = 1
    return inputs


def test_a_classifier(trained, trained_flags, run_folder, tmp_path, capfd):
    """The probabilities of bert-classify --do_predict before quantization, and nearly after it."""
    out = tmp_path / "onnx"
    assert export("--format=onnx", f"--init_checkpoint={trained}", f"--export_dir={out}", "--quantize=int8") == 0
    err = capfd.readouterr().err
    assert "of 11 texts have other labels" in err
    assert {path.name for path in out.iterdir()} == FILES | {"model_int8.onnx"}
    data = next(flag for flag in trained_flags if flag.startswith("--data_dir=")).partition("=")[2]
    with open(f"{data}/test.tsv", encoding="utf-8") as file:
        texts = [line.rstrip("\n").split("\t")[1] for line in file.readlines()[1:]]
    inputs = inputs_of(out, texts)
    expected = run_folder(trained).probabilities()
    np.testing.assert_allclose(run(out / "model.onnx", inputs)["probabilities"], expected, atol=1e-5)
    quantized = run(out / "model_int8.onnx", inputs)["probabilities"]
    assert 0 < np.abs(quantized - expected).max() < 0.1
    assert (out / "labels.txt").read_text() == "0\n1\n"
    import onnx

    model = onnx.load(str(out / "model.onnx"))
    kept = {entry.key: entry.value for entry in model.metadata_props}
    told = {"kind": "classifier", "problem_type": "single_label", "do_lower_case": "true", "max_seq_length": "32"}
    assert kept == told | {"labels": '["0", "1"]'}
    whole = sum(np.prod(initializer.dims) for initializer in model.graph.initializer)
    assert whole == pytest.approx(sum(value.size for value in weights(trained, run_folder)), abs=64)


@pytest.mark.parametrize(("problem_type", "name"), [("multi_label", "probabilities"), ("regression", "value")])
def test_several_labels_and_numbers(trained, tmp_path, problem_type, name):
    """Predictions equal those of Classifier; int8 has no accuracy to compare."""
    from bert_cli import Classifier

    folder, texts = (
        as_problem(trained, tmp_path / problem_type, problem_type),
        ["the old farmer sings", "a dog", "fish"],
    )
    out = tmp_path / "onnx"
    assert export("--format=onnx", f"--init_checkpoint={folder}", f"--export_dir={out}", "--quantize=int8") == 0
    outputs = run(out / "model.onnx", inputs_of(out, texts))
    assert list(outputs) == [name]
    result = Classifier.load(folder, precision="float32").predict(texts)
    np.testing.assert_allclose(
        outputs[name], result.probabilities if result.values is None else result.values, atol=1e-5
    )
    assert (out / "labels.txt").exists() == (problem_type == "multi_label")


def weights(trained, run_folder) -> list:
    tensors = run_folder(trained).tensors(30)
    return [value for name, value in tensors.items() if "adam" not in name and name != "global_step"]


@pytest.mark.parametrize("activation", ["gelu", "gelu_new", "relu", "tanh"])
def test_an_encoder(two_layer_model, tmp_path, activation):
    import tensorflow as tf

    from bert_cli.model.config_files import read_config
    from bert_cli.model.encoder import BertEncoder
    from bert_cli.model.layers import named_weights
    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    config = json.loads((two_layer_model / "bert_config.json").read_text()) | {
        "hidden_act": activation,
        "layer_norm_eps": 1e-5,
    }
    source = tmp_path / "source"
    source.mkdir()
    (source / "bert_config.json").write_text(json.dumps(config))
    (source / "vocab.txt").write_bytes((two_layer_model / "vocab.txt").read_bytes())
    encoder = BertEncoder(read_config(str(source / "bert_config.json"), "erf"), seed=3)
    write_tf1(str(source / "bert_model.ckpt"), {name: value.numpy() for name, value in named_weights(encoder).items()})
    flags = ["--format=onnx", f"--init_checkpoint={source}", f"--export_dir={tmp_path / 'out'}", "--gelu=erf"]
    assert export(*flags) == 0
    inputs = inputs_of(source, ["the old farmer sings , and", "A dog ?"])
    inputs["input_type_ids"][0, 3:5] = 1
    outputs = run(tmp_path / "out" / "model.onnx", inputs)
    expected = encoder({name: tf.constant(values) for name, values in inputs.items()})
    assert set(outputs) == {"sequence_output", "pooled_output"}
    for name, values in outputs.items():
        np.testing.assert_allclose(values, expected[name], atol=1e-5)


@pytest.mark.slow
def test_tags_and_answers(two_layer_flags, two_layer_model, tmp_path):
    """A tagger that reads two layers, and a question-answering model, give the results of the API."""
    from bert_cli import Tagger

    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.txt").write_text("the\tO\nold\tB-X\ndog\tI-X\nsees\tO\n\na\tO\ncat\tB-X\n")
    tag = [*two_layer_flags, f"--data_dir={tmp_path / 'data'}", f"--output_dir={tmp_path / 'tag'}", "--layers=-1,0"]
    assert run_tagging.main([*tag, "--do_train", "--train_batch_size=1", "--num_train_epochs=5"]) == 0
    assert export("--format=onnx", f"--init_checkpoint={tmp_path / 'tag'}", f"--export_dir={tmp_path / 'out'}") == 0
    assert (tmp_path / "out" / "labels.txt").read_bytes() == (tmp_path / "tag" / "labels.txt").read_bytes()
    outputs = run(tmp_path / "out" / "model.onnx", inputs_of(tmp_path / "out", ["the old dog"]))["probabilities"]
    labels = (tmp_path / "tag" / "labels.txt").read_text().split()
    tagger = Tagger.load(str(tmp_path / "tag"), precision="float32")
    assert [labels[best] for best in outputs[0, 1:4].argmax(axis=-1)] == list(tagger.tag(["the old dog"])[0].tags)

    (tmp_path / "squad").mkdir()
    squad_run.train(two_layer_model, tmp_path / "squad")
    squad = tmp_path / "squad" / "out"
    assert export("--format=onnx", f"--init_checkpoint={squad}", f"--export_dir={tmp_path / 'spans'}") == 0
    outputs = run(tmp_path / "spans" / "model.onnx", inputs_of(tmp_path / "spans", ["the old dog sees", "a cat"]))
    assert {name: values.shape for name, values in outputs.items()} == {"start_logits": (2, 6), "end_logits": (2, 6)}


def test_refusals(trained, tmp_path, capfd):
    flags = ["--format=onnx", f"--init_checkpoint={trained}", f"--export_dir={tmp_path / 'out'}"]
    for more, message in (
        (["--labels=0,1,2"], "was trained with 0,1, in this order"),
        (["--quantize=int8", f"--data_dir={tmp_path / 'no'}"], "dev.tsv"),
    ):
        assert export(*flags, *more) == 1
        assert message in capfd.readouterr().err
        assert not (tmp_path / "out").exists()


def test_the_dev_file_is_read_with_the_quoting_of_the_training(trained, tmp_path, capfd):
    texts = ["a dog sees a cat .", "two\nlines", 'a "dog" .']
    table = pd.DataFrame({"id": ["a", "b", "c"], "label": [0, 1, 0], "mark": "", "text": texts})
    table.to_csv(tmp_path / "dev.tsv", sep="\t", index=False, header=False)
    paths = [f"--init_checkpoint={trained}", f"--export_dir={tmp_path / 'onnx'}", f"--data_dir={tmp_path}"]
    assert export("--format=onnx", "--quantize=int8", *paths) == 1
    check_message(capfd.readouterr().err, "dev.tsv:3")
    flags = trained / "flags.txt"
    flags.write_text(flags.read_text("utf-8").replace("--quoting=none", "--quoting=csv"), encoding="utf-8")
    assert export("--format=onnx", "--quantize=int8", *paths) == 0
    assert "of 3 texts have other labels" in capfd.readouterr().err
