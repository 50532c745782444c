"""Commands on directories with transformers' tokenizer files: equal tokens in every format."""

import json

import pytest

from bert_cli import Tokenizer
from bert_cli.base.errors import InputError
from bert_cli.opening.tokenizer import load_tokenizer
from tests.commands.convert_run import convert, make_source
from tests.snapshots import check_message, raises
from tests.tokenizer_folders import (
    CONFIGURATIONS,
    E1,
    SIZE,
    SPECIAL,
    TEXTS,
    USER,
    VOCABULARY,
    bert,
    tokenizer_json,
    write,
)

# Keras 3.15 reads TensorFlow variables through an old NumPy interface; Python hides this
# warning from users.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
TOKENS = [*VOCABULARY, "<user>", "[E1]"]


def tokens_of(folder, texts=TEXTS) -> list[list[str]]:
    tokenizer = load_tokenizer(init_checkpoint=str(folder))
    assert [tokenizer.ids[token] for token in ("the", "<user>", "[E1]")] == [13, SIZE, SIZE + 1]
    return [tokenizer.tokenize(text) for text in texts]


@pytest.fixture
def hugging_face(tmp_path):
    """hugging_face(files) -> a Hugging Face directory with these files, without vocab.txt."""
    source, _ = make_source(tmp_path, ("masked_lm",), tokens=TOKENS)
    convert(source, tmp_path / "hf")

    def make(files):
        for name in ("vocab.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
            (tmp_path / "hf" / name).unlink()
        return write(tmp_path / "hf", **files)

    return make


FILES = {
    "as transformers 5 saves it": {"tokenizer": tokenizer_json([USER, E1]), "tokenizer_config": bert()},
    "other rules": {
        "tokenizer": tokenizer_json([USER, E1], strip_accents=False, handle_chinese_chars=False, lowercase=False),
        "tokenizer_config": bert(do_lower_case=False, strip_accents=False, tokenize_chinese_chars=False),
    },
    "vocab.txt and added_tokens.json": {
        "vocab": VOCABULARY,
        "tokenizer_config": bert(never_split=["The", "new"]),
        "added_tokens": {"<user>": SIZE, "[E1]": SIZE + 1},
    },
}


@pytest.mark.parametrize("name", FILES)
def test_conversion_keeps_tokens_and_ids(hugging_face, tmp_path, name):
    folder = hugging_face(FILES[name])
    # A directory written by transformers always lists the special tokens, so they are
    # searched for from then on.
    is_listed = "tokenizer" in FILES[name]
    texts = [text for text in TEXTS if is_listed or not any(token in text for token in SPECIAL)]
    expected = tokens_of(folder, texts)
    convert(folder, tmp_path / "tf1", to_format="tf1")
    convert(tmp_path / "tf1", tmp_path / "again")
    convert(folder, tmp_path / "copy")
    for copy in ("tf1", "again", "copy"):
        assert (tmp_path / copy / "vocab.txt").read_text().split("\n")[:-1] == TOKENS
        assert tokens_of(tmp_path / copy, texts) == expected
    for copy in ("again", "copy"):
        assert list(json.loads((tmp_path / copy / "tokenizer.json").read_text())["model"]["vocab"]) == VOCABULARY


def test_a_usual_directory_becomes_a_plain_tf1_model(hugging_face, tmp_path):
    """Special tokens, which every tokenizer.json lists, are not written for Google's scripts."""
    plain = {"tokenizer": tokenizer_json(vocabulary=TOKENS, longest=200), "tokenizer_config": bert()}
    convert(hugging_face(plain), tmp_path / "tf1", to_format="tf1")
    names = {path.name for path in (tmp_path / "tf1").iterdir()}
    assert names == {"vocab.txt", "bert_config.json", "bert_model.ckpt.index", "bert_model.ckpt.data-00000-of-00001"}


def test_conversion_removes_another_models_tokenizer_file(hugging_face, tmp_path):
    folder = hugging_face(FILES["as transformers 5 saves it"])
    for name in ("tokenizer", "added_tokens"):
        write(tmp_path / name, **{name: {}})
        with raises(InputError, f"{name}.json: "):
            convert(folder, tmp_path / name, to_format="tf1")


def test_a_tokenizer_json_is_a_vocabulary_file(tmp_path):
    folder = write(tmp_path, **CONFIGURATIONS["cased"])
    path = str(folder / "tokenizer.json")
    assert load_tokenizer(vocab_file=path).tokenize("The [SEP] THE") == ["The", "[SEP]", "[UNK]"]
    tokenizer = Tokenizer.load(path)
    assert (tokenizer.do_lower_case, tokenizer.vocab_size) == (False, SIZE)
    assert Tokenizer.load(path, do_lower_case=True).tokenize("The THE") == ["the", "the"]


@pytest.mark.parametrize(("flags", "unknown"), [([], True), (["--do_lower_case"], False)])
def test_pretraining_data_from_a_tokenizer_json(tmp_path, capfd, flags, unknown):
    from bert_cli.create_pretraining_data import main

    folder = write(tmp_path, **CONFIGURATIONS["cased"])
    (tmp_path / "text.txt").write_text("The\nTHE\n\nThe\nTHE\n")
    paths = [f"--input_file={tmp_path / 'text.txt'}", f"--output_file={tmp_path / 'out'}"]
    assert main([*paths, f"--vocab_file={folder / 'tokenizer.json'}", "--masked_lm_prob=0.01", *flags]) == 0
    lines = capfd.readouterr().err
    assert "tokens: [CLS] " in lines
    assert ("   0.00% [UNK]" in lines) is not unknown


def test_build_vocab_extends_no_tokenizer_json(tmp_path, capfd):
    from bert_cli.build_vocab import main

    path = write(tmp_path, tokenizer=tokenizer_json()) / "tokenizer.json"
    assert main([f"--extend={path}", "--add_special_tokens", f"--output_file={tmp_path / 'vocab.txt'}"]) == 1
    check_message(capfd.readouterr().err, f"{path}: ")


def test_a_keras_preprocessor_is_saved_with_its_settings(hugging_face, tmp_path):
    import keras
    import tensorflow as tf

    from bert_cli.keras import Preprocessor

    folder = hugging_face(FILES["as transformers 5 saves it"])
    layer = Preprocessor.load(str(folder), max_seq_length=12)
    ids = layer(["The <USER> [E1]"])["input_word_ids"].numpy().tolist()
    assert ids == [[2, 13, SIZE, SIZE + 1, 3] + [0] * 7]
    text = keras.Input((), dtype="string")
    keras.Model(text, layer(text)).save(tmp_path / "model.keras")
    loaded_model = keras.models.load_model(tmp_path / "model.keras")
    assert loaded_model(tf.constant(["The <USER> [E1]"]))["input_word_ids"].numpy().tolist() == ids
