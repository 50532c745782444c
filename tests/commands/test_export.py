"""bert-export: SavedModels in a process without this package, and hub modules as in the tutorials."""

import json
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

from bert_cli.export_model import main
from bert_cli.features.packing import pack
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary
from tests.commands.helpers import as_problem

# Load a model and call a signature by name, as TensorFlow Serving does, without this package.
SERVE = """
import json, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np, tensorflow as tf
import tensorflow_text
texts = json.load(sys.stdin)
def serve(folder):
    serving = tf.saved_model.load(folder).signatures["serving_default"]
    outputs = serving(**{name: tf.constant(values) for name, values in texts.items()})
    arrays = {name: values.numpy() for name, values in outputs.items()}
    decode = lambda a: np.char.decode(a.astype(bytes), "utf-8") if a.dtype == object else a
    return {name: decode(a).tolist() for name, a in arrays.items()}
assert "bert_cli" not in sys.modules
print(json.dumps([serve(folder) for folder in sys.argv[1:]]))
"""


@pytest.fixture
def trained(trained_two_layers) -> pathlib.Path:
    """Two layers, since a format may mix them up."""
    return trained_two_layers


def export(*flags) -> None:
    assert main([str(flag) for flag in flags]) == 0


@pytest.fixture(scope="module")
def hub():
    """tensorflow-hub; its import of pkg_resources causes a deprecation warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import tensorflow_hub
    return tensorflow_hub


@pytest.fixture(scope="module")
def encoder(hub, exported):
    return hub.load(str(exported / "encoder"))


@pytest.fixture(scope="module")
def preprocess(hub, exported):
    return hub.load(str(exported / "preprocess"))


@pytest.mark.slow
def test_classifiers_in_a_fresh_process(trained, run_folder, trained_flags, tmp_path):
    """A single-label, a multi-label and a regression model."""
    from bert_cli import Classifier

    data = next(flag for flag in trained_flags if flag.startswith("--data_dir=")).partition("=")[2]
    rows = [line.split("\t") for line in open_text(f"{data}/test.tsv").splitlines()[1:]]
    export(f"--init_checkpoint={trained}", f"--export_dir={tmp_path / 'serving' / '1'}")
    assert [path.name for path in (tmp_path / "serving").iterdir()] == ["1"]
    other_folders = [
        as_problem(trained, tmp_path / problem_type, problem_type) for problem_type in ("multi_label", "regression")
    ]
    for folder in other_folders:
        export(f"--init_checkpoint={folder}", f"--export_dir={folder / 'serving'}")
    folders = [tmp_path / "serving" / "1", *(folder / "serving" for folder in other_folders)]
    process = subprocess.run(
        [sys.executable, "-c", SERVE, *map(str, folders)],
        input=json.dumps({"text": [text for _, text in rows]}),
        capture_output=True,
        check=False,
        text=True,
        cwd=tmp_path,
    )
    assert process.returncode == 0, process.stderr
    outputs, several, number = json.loads(process.stdout)
    expected = run_folder(trained).probabilities()
    assert np.abs(np.array(outputs["probabilities"]) - expected).max() < 1e-5
    assert outputs["labels"] == [["0", "1"]] * len(rows)
    assert outputs["label"] == run_folder(trained).predictions()["label"].tolist()
    expected_predictions = [
        Classifier.load(folder, precision="float32").predict([text for _, text in rows]) for folder in other_folders
    ]
    assert several.keys() == {"probabilities", "labels"}
    assert number.keys() == {"value"}
    assert several["labels"] == outputs["labels"]
    np.testing.assert_allclose(several["probabilities"], expected_predictions[0].probabilities, atol=1e-5)
    # A softmax would sum to 1 within 1e-7.
    assert np.abs(np.sum(several["probabilities"], axis=1) - 1).max() > 1e-4
    np.testing.assert_allclose(number["value"], expected_predictions[1].values, atol=1e-5)
    asset = open_text(tmp_path / "serving" / "1" / "assets" / "vocab.txt").split("\n")
    tokens = open_text(trained / "vocab.txt").split("\n")
    first = tokens.index("a")  # this vocabulary has it twice, and the second id counts
    assert asset == [*tokens[:first], f"[line {first}]", *tokens[first + 1 :]]


def open_text(path) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def test_pairs_token_ids_and_any_number_of_texts(trained, tmp_path):
    import tensorflow as tf

    from bert_cli import Classifier

    flags_file = trained / "flags.txt"
    flags_file.write_text(open_text(flags_file).replace("--task_name=cola", "--task_name=mrpc"), encoding="utf-8")
    export(f"--init_checkpoint={trained}", f"--export_dir={tmp_path / 'model'}", "--max_seq_length=12")
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    serve, of_tokens = (loaded.signatures[name] for name in ("serving_default", "token_ids"))
    classifier = Classifier.load(str(trained), max_seq_length=12, precision="float32")
    tokenizer = FullTokenizer(read_vocabulary(str(trained / "vocab.txt")))
    texts = ["a dog", "", "the old farmer buys bread and paints our house", "cat", "our bird sings in the garden"]
    second_texts = [
        "",
        "a cat",
        "a dog",
        "the young teacher never sings a song in the house",
        "the fish likes the river and",
    ]
    for chosen in ([], [0], [1, 2], [0, 1, 2, 3, 4], [4, 2]):
        a, b = ([values[number] for number in chosen] for values in (texts, second_texts))
        expected = classifier.predict(list(zip(a, b, strict=True)))
        inputs = inputs_of(tokenizer, a, b, 12)
        by_text = serve(text=tf.constant(a, tf.string), text_b=tf.constant(b, tf.string))
        by_ids = of_tokens(**{name: tf.constant(values, tf.int32) for name, values in inputs.items()})
        for outputs in (by_text, by_ids):
            np.testing.assert_allclose(outputs["probabilities"].numpy(), expected.probabilities, atol=1e-6)
            assert [name.decode() for name in outputs["label"].numpy()] == expected.best


def inputs_of(tokenizer, texts, second_texts, width) -> dict:
    """Return the encoder's inputs made by the Python tokenizer, int32 [n, width].

    `second_texts` is None for single texts.
    """
    names = ("input_word_ids", "input_mask", "input_type_ids")
    inputs = {name: np.zeros((len(texts), width), np.int32) for name in names}
    cls_id, sep_id = tokenizer.ids["[CLS]"], tokenizer.ids["[SEP]"]
    for row, text in enumerate(texts):
        ids_b = tokenizer.encode(second_texts[row]) if second_texts else None
        packed = pack(tokenizer.encode(text), ids_b, width, cls_id, sep_id)
        count = len(packed.token_ids)
        inputs["input_word_ids"][row, :count] = packed.token_ids
        inputs["input_type_ids"][row, :count] = packed.segment_ids
        inputs["input_mask"][row, :count] = 1
    return inputs


@pytest.mark.slow
def test_steps_in_the_tutorials(preprocess, encoder, exported, trained):
    import tensorflow as tf

    texts = ["the old farmer sings , and", "A dog ?"]
    inputs = preprocess(tf.constant(texts))
    tokenizer = FullTokenizer(read_vocabulary(str(trained / "vocab.txt")))
    for name, values in inputs_of(tokenizer, texts, None, 24).items():
        assert inputs[name].numpy().tolist() == values.tolist()
        assert inputs[name].dtype == tf.int32
    outputs = encoder(inputs)
    assert set(outputs) == {"default", "pooled_output", "sequence_output", "encoder_outputs"}
    assert outputs["pooled_output"].shape == (2, 16)
    assert outputs["sequence_output"].shape == (2, 24, 16)
    assert len(outputs["encoder_outputs"]) == 2
    assert np.array_equal(outputs["encoder_outputs"][-1], outputs["sequence_output"])
    assert np.array_equal(outputs["default"], outputs["pooled_output"])
    trained_output = encoder(inputs, training=True)["pooled_output"]
    assert not np.array_equal(trained_output, outputs["pooled_output"])  # dropout

    for name, place in (("vocab.txt", "assets"), ("bert_config.json", "assets.extra")):
        assert (exported / "encoder" / place / name).read_bytes() == (trained / name).read_bytes()
    assert encoder.vocab_file.asset_path.numpy().decode() == str(exported / "encoder" / "assets" / "vocab.txt")
    assert encoder.do_lower_case.numpy()

    reader = tf.train.load_checkpoint(str(trained))
    assert len(encoder.variables) == len(encoder.trainable_variables) == len(encoder.weights) == 39
    for name, variable in encoder.weights.items():
        assert np.array_equal(variable.numpy(), reader.get_tensor(name))
    from bert_cli.model.config_files import read_config
    from bert_cli.model.encoder import BertEncoder
    from bert_cli.model.layers import named_weights

    ours = BertEncoder(read_config(str(trained / "bert_config.json")))
    for name, variable in named_weights(ours).items():
        variable.assign(reader.get_tensor(name))
    np.testing.assert_allclose(outputs["sequence_output"], ours(inputs)["sequence_output"], rtol=3e-6, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("training", [False, True])
def test_gradients_reach_all_variables(preprocess, encoder, training):
    import tensorflow as tf

    inputs = preprocess(tf.constant(["a dog chases a cat .", "the river"]))
    with tf.GradientTape() as tape:
        outputs = encoder(inputs, training=training)
        loss = tf.reduce_sum(outputs["pooled_output"][:, :5]) + tf.reduce_sum(outputs["sequence_output"][:, 1, :5])
    weights = dict(encoder.weights)
    gradients = {
        name: tf.convert_to_tensor(gradient).numpy() for name, gradient in tape.gradient(loss, weights).items()
    }
    # The key bias changes all scores of a query by the same amount.
    assert all(np.abs(gradients[name]).max() > 1e-6 for name in gradients if not name.endswith("key/bias"))
    if training:
        return
    weight, place = encoder.weights["bert/encoder/layer_0/intermediate/dense/kernel"], (3, 5)
    before, losses = weight.numpy(), []
    for step in (1e-2, -1e-2):
        moved = before.copy()
        moved[place] += step
        weight.assign(moved)
        outputs = encoder(inputs)
        excerpts = outputs["pooled_output"][:, :5], outputs["sequence_output"][:, 1, :5]
        losses.append(sum(float(tf.reduce_sum(excerpt)) for excerpt in excerpts))
    weight.assign(before)
    slope = gradients["bert/encoder/layer_0/intermediate/dense/kernel"][place]
    assert (losses[0] - losses[1]) / 2e-2 == pytest.approx(slope, rel=0.02, abs=1e-4)


@pytest.mark.slow
def test_tokenize_and_pack(preprocess, trained):
    import tensorflow as tf

    vocabulary = read_vocabulary(str(trained / "vocab.txt"))
    tokenizer = FullTokenizer(vocabulary)
    special = {name: int(number) for name, number in preprocess.tokenize.get_special_tokens_dict().items()}
    assert special == {
        "vocab_size": 98, "start_of_sequence_id": 2, "end_of_segment_id": 3, "mask_id": 4, "padding_id": 0,
    }  # fmt: skip
    texts = ["the dogs", "", "our teacher builds , paints and never sings", "a cat"]
    second_texts = ["a red house opens in the garden", "fish", "river", "under the house , near a horse"]
    first, second = (preprocess.tokenize(tf.constant(values)) for values in (texts, second_texts))
    assert first.dtype == tf.int32
    assert first.to_list()[0] == [
        [vocabulary.ids["the"]],
        [vocabulary.ids[piece] for piece in tokenizer.tokenize("dogs")],
    ]
    for width in (5, 7, 8, 30):
        packed = preprocess.bert_pack_inputs([first, second], seq_length=tf.constant(width))
        flat = preprocess.bert_pack_inputs([first.merge_dims(1, 2), second.merge_dims(1, 2)], width)
        single = preprocess.bert_pack_inputs([first], width)
        for name, values in inputs_of(tokenizer, texts, second_texts, width).items():
            assert packed[name].numpy().tolist() == flat[name].numpy().tolist() == values.tolist()
            assert single[name].numpy().tolist() == inputs_of(tokenizer, texts, None, width)[name].tolist()
    assert preprocess.bert_pack_inputs([first])["input_mask"].shape == (4, 24)
    # As in the published modules, and unlike in Google's scripts, an empty second
    # text has its [SEP].
    empty = preprocess.bert_pack_inputs([preprocess.tokenize(tf.constant([text])) for text in ("a", "")], 6)
    assert empty["input_word_ids"].numpy().tolist() == [[2, vocabulary.ids["a"], 3, 3, 0, 0]]
    assert empty["input_type_ids"].numpy().tolist() == [[0, 0, 0, 1, 0, 0]]


@pytest.mark.slow
def test_as_keras_layers(hub, exported):
    """The model in the public tutorials on text classification, trained for a step."""
    import tensorflow as tf

    tf_keras = pytest.importorskip("tf_keras", reason="hub.KerasLayer belongs to tf_keras")
    text = tf_keras.layers.Input([], dtype=tf.string)
    inputs = hub.KerasLayer(str(exported / "preprocess"))(text)
    encoder = hub.KerasLayer(str(exported / "encoder"), trainable=True)
    model = tf_keras.Model(text, tf_keras.layers.Dense(1)(encoder(inputs)["pooled_output"]))
    before = [variable.numpy() for variable in encoder.trainable_variables]
    assert len(before) == 39
    model.compile("adam", "mse")
    model.fit(tf.constant(["the dog", "our house ?"]), tf.constant([1.0, -1.0]), verbose=0)
    moved = [not np.array_equal(old, new) for old, new in zip(before, encoder.trainable_variables, strict=True)]
    assert sum(moved) >= 37  # the key biases may stay
