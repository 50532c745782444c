"""Texts to token ids in Keras 3 models: same ids as the commands, and saving with the vocabulary."""

import copy
import json
import shutil
import zipfile

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError, InputTypeError
from bert_cli.base.spec import INPUTS
from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.classification import classification_features
from bert_cli.keras import Encoder, Preprocessor
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary
from tests.snapshots import raises

# Keras 3.15 itself causes this warning when it writes variables to a file.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
TEXTS = ["The old dog sees a cat.", "", "ÄÖ ! qua", "small " * 40]
SECOND_TEXTS = ["a bird ?", "the river", "", "fish " * 3]


@pytest.fixture(scope="module")
def preprocessor(one_layer):
    return Preprocessor.load(one_layer, max_seq_length=12)


@pytest.mark.parametrize("pairs", [False, True])
def test_ids_equal_those_of_the_commands(preprocessor, one_layer, pairs):
    tokenizer = FullTokenizer(read_vocabulary(str(one_layer / "vocab.txt")), do_lower_case=True)
    # In a graph an empty second text has the result that commands give for no second text.
    texts = zip(TEXTS, SECOND_TEXTS if pairs else [None] * 4, strict=True)
    examples = [ClassificationExample(str(n), text_a, text_b or None, None) for n, (text_a, text_b) in enumerate(texts)]
    expected = classification_features(examples, (), tokenizer, 12).batch(np.arange(4), 12)
    actual = preprocessor([TEXTS, SECOND_TEXTS] if pairs else TEXTS)
    for name in INPUTS:
        assert actual[name].dtype == tf.int32
        np.testing.assert_array_equal(actual[name], expected[name], err_msg=name)


def test_texts_can_be_tensors_arrays_or_lists(preprocessor):
    expected = preprocessor(TEXTS)["input_word_ids"].numpy()
    for texts in (tf.constant(TEXTS), np.array(TEXTS), np.array(TEXTS, object), tuple(TEXTS)):
        np.testing.assert_array_equal(preprocessor(texts)["input_word_ids"], expected)


@pytest.mark.parametrize(
    "texts",
    [(text for text in TEXTS), pd.Series(TEXTS), [text.encode() for text in TEXTS], tf.constant(TEXTS)[:, tf.newaxis]],
    ids=["generator", "column", "bytes", "B x 1"],
)
def test_other_forms_of_one_column(preprocessor, texts):
    expected = preprocessor(TEXTS)["input_word_ids"].numpy()
    np.testing.assert_array_equal(preprocessor(texts)["input_word_ids"], expected)


def test_two_columns_of_a_data_frame_are_pairs(preprocessor):
    expected = preprocessor([TEXTS, SECOND_TEXTS])["input_word_ids"].numpy()
    actual = preprocessor([pd.Series(TEXTS), (text for text in SECOND_TEXTS)])
    np.testing.assert_array_equal(actual["input_word_ids"], expected)


@pytest.mark.parametrize(
    ("texts", "place"),
    [
        (pd.DataFrame({"a": TEXTS, "b": SECOND_TEXTS}), "texts: "),
        ({"a": TEXTS}, "texts: "),
        ({"a", "b"}, "texts: "),
        (["a", None], "texts[1]: "),
        ([["a", "b"], ["c", None]], "texts[1][1]: "),
        ([("a", "b")] * 3, "texts: "),
        # As columns, these would be exchanged without a word.
        ([("a", "b"), ("c", "d")], "texts: "),
        ([("a", "b")], "texts: "),
        (["a", ("b", "c")], "texts: "),
        (np.array([["a", "b"], ["c", "d"], ["e", "f"]]), "texts: "),
        (keras.KerasTensor((None, 2), "string"), "texts: "),
    ],
)  # fmt: skip
def test_anything_but_one_column_of_texts_is_refused(preprocessor, texts, place):
    with raises(InputTypeError, place):
        preprocessor(texts)


def test_model_that_reads_texts_is_trained_saved_and_loaded(preprocessor, one_layer, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(one_layer, folder)
    texts = keras.Input((), dtype="string")
    encoded = Encoder.load(folder, name="bert")(preprocessor(texts))
    shutil.rmtree(folder)  # the saved model must not need it
    assert encoded["sequence_output"].shape == (None, 12, 16)
    model = keras.Model(texts, keras.layers.Dense(1, activation="sigmoid")(encoded["pooled_output"]))
    # Keras traces a step twice if the first trace creates the optimizer's variables.
    optimizer = keras.optimizers.Adam(1e-2)
    optimizer.build(model.trainable_variables)
    model.compile(optimizer, "binary_crossentropy", metrics=[keras.metrics.AUC()])
    labels = np.array([[1.0], [0.0], [1.0], [0.0]])
    history = model.fit(tf.constant(TEXTS), labels, epochs=12, verbose=0).history
    assert history["loss"][-1] < history["loss"][0] / 2
    assert history["auc"][-1] == 1.0
    model.save(tmp_path / "model.keras")
    loaded_model = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded_model.get_layer("bert")) is Encoder
    np.testing.assert_array_equal(loaded_model(tf.constant(TEXTS)), model(tf.constant(TEXTS)))


def test_copies_have_the_vocabulary_and_a_config_in_a_file_has_none(preprocessor, tmp_path):
    texts = keras.Input((), dtype="string")
    model = keras.Model(texts, preprocessor(texts))
    expected = model(tf.constant(TEXTS))["input_word_ids"].numpy()
    model.save(tmp_path / "model.keras")
    sequential = keras.Sequential([keras.Input((), dtype="string"), preprocessor])
    copies = [keras.models.clone_model(model), keras.models.load_model(tmp_path / "model.keras")]
    for copied in (*copies, keras.models.clone_model(sequential), copy.deepcopy(preprocessor)):
        np.testing.assert_array_equal(copied(tf.constant(TEXTS))["input_word_ids"], expected)
    with zipfile.ZipFile(tmp_path / "model.keras") as archive:
        # A program without bert_cli prints the config in its error.
        assert len(archive.read("config.json")) < 3000
        stored = [name for name in archive.namelist() if name.endswith("vocabulary.json")]
        assert json.loads(archive.read(stored[0])) == preprocessor.vocabulary
    without = keras.models.model_from_json(model.to_json())
    with pytest.raises(InputError, match="has no vocabulary"):
        without(tf.constant(TEXTS))


def test_refusals(one_layer):
    with raises(InputError, "max_seq_length=65: "):
        Preprocessor.load(one_layer, max_seq_length=65)
    with pytest.raises(InputError, match="max_seq_length"):
        Preprocessor.load(one_layer, max_seq_length=2)
    with raises(InputError, "vocabulary: "):
        Preprocessor(["[PAD]", "[UNK]", "a"])


def test_rows_are_padded_with_the_id_of_pad():
    """The vocabulary of BETO begins with [MASK]."""
    layer = Preprocessor(["[MASK]", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "a"], max_seq_length=5)
    outputs = layer(["a"])
    assert outputs["input_word_ids"].numpy().tolist() == [[3, 5, 4, 1, 1]]
    assert outputs["input_mask"].numpy().tolist() == [[1, 1, 1, 0, 0]]
