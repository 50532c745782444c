"""Keys in the files of a model, in all callers: obeyed keys change the numbers, and others are refused by name."""

import json
from typing import NamedTuple

import numpy as np
import onnxruntime
import pytest

from bert_cli import FeatureExtractor, Tokenizer, convert_checkpoint, doctor, export_model, extract_features
from bert_cli.base.errors import InputError
from bert_cli.base.log import warn_once
from bert_cli.sentence.modules import read_modules
from bert_cli.serving.items import Item
from bert_cli.serving.loading import load_served
from bert_cli.settings.answering import ModelFlags
from bert_cli.weights.path import find_checkpoint
from tests.model.test_config_keys import REFUSED
from tests.sentence import test_keys as sentence_keys
from tests.sentence_cases import folder_of
from tests.snapshots import check_message
from tests.text import test_tokenizer_settings as tokenizer_keys

# Keras 3.15 asks NumPy 2 for a TensorFlow variable's numbers in the old way; Python hides this warning from users.
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
# Casing, an accent, ideographs and a word within another one matter.
TEXT = "The dog : doghouse é 犬犬 hill"
CONFIG, TOKENIZER, ENCODER = "config.json", "tokenizer_config.json", "sentence_bert_config.json"
SENTENCE, POOLING, DENSE = "config_sentence_transformers.json", "1_Pooling/config.json", "2_Dense/config.json"
PROMPTS = {"prompts": {"query": "the river ", "other": ""}}


class Change(NamedTuple):
    """A key's value that changes numbers, and values of other keys in its file before.

    Attributes:
        file: file name.
        key: the key.
        value: its value.
        others: values of other keys, by name.
    """

    file: str
    key: str
    value: object
    others: dict = {}  # noqa: RUF012


CHANGES = [
    Change(CONFIG, "hidden_act", "relu"),
    Change(CONFIG, "gelu", "tanh"),
    Change(CONFIG, "layer_norm_eps", 0.1),
    Change(CONFIG, "num_attention_heads", 4),
    Change(TOKENIZER, "do_lower_case", False),
    Change(TOKENIZER, "strip_accents", False),
    Change(TOKENIZER, "tokenize_chinese_chars", False),
    Change(TOKENIZER, "never_split", ["The"]),
    Change(TOKENIZER, "added_tokens_decoder", {"9": {"content": "house"}}),
    Change(TOKENIZER, "additional_special_tokens", ["house"]),
    Change(TOKENIZER, "model_max_length", 5),
    Change(ENCODER, "max_seq_length", 4),
    Change(ENCODER, "do_lower_case", True, {"do_lower_case": False}),
    Change(SENTENCE, "default_prompt_name", "query", PROMPTS),
    Change(SENTENCE, "prompts", {"query": "old"}, PROMPTS | {"default_prompt_name": "query"}),
    Change(SENTENCE, "truncate_dim", 2),
    Change(POOLING, "pooling_mode", "cls"),
    Change(DENSE, "activation_function", "torch.nn.modules.activation.ReLU"),
]
# Keys whose values need weights of other shapes.
SHAPES = {"hidden_size": 16, "intermediate_size": 10, "num_hidden_layers": 2, "max_position_embeddings": 32}
REFUSALS = [(CONFIG, key, value) for key, value in REFUSED.items()]
REFUSALS += [(TOKENIZER, key, value) for key, value in tokenizer_keys.REFUSED.items()]
REFUSALS += [
    (name, key, sentence_keys.REFUSED.get(key, sentence_keys.OPTIONS))
    for name, table in sentence_keys.TABLES.items()
    if "Normalize" not in name
    for key in table.required
]


def make(target, file=CONFIG, **values):
    """Write a model of sentence-transformers with a dense layer, with other values in one of its files."""
    folder = folder_of("dense", target)
    if file == ENCODER and "do_lower_case" in values:  # the tokenizer does it, too
        sentence_keys.write_key(folder, TOKENIZER, "do_lower_case", False)
    for key, value in values.items():
        sentence_keys.write_key(folder, file, key, value)
    return folder


def run(main, *flags):
    """Run a command, and raise its error as in Python."""
    if main([*map(str, flags)]) != 0:
        raise InputError("see standard error")


def python(folder, tmp_path):
    return FeatureExtractor.load(str(folder)).extract([TEXT]), ""


def server(folder, tmp_path):
    return load_served("m", ModelFlags(), find_checkpoint(str(folder))).vectors.embed([Item(TEXT)])[0].vector, ""


def command(folder, tmp_path):
    (tmp_path / "in.txt").write_text(TEXT + "\n", encoding="utf-8")
    flags = [f"--init_checkpoint={folder}", f"--input_file={tmp_path / 'in.txt'}", f"--output_file={tmp_path / 'out'}"]
    run(extract_features.main, *flags, "--engine=onnxruntime", "--allow_unknown")
    return json.loads((tmp_path / "out").read_text())["values"], ""


def keras_encoder(folder, tmp_path):
    from bert_cli.keras import Encoder

    ids = np.int32([[2, 5, 7, 3]])
    inputs = {"input_word_ids": ids, "input_mask": np.ones_like(ids), "input_type_ids": np.zeros_like(ids)}
    return Encoder.load(str(folder), new_pooler=True)(inputs)["sequence_output"].numpy(), ""


def keras_preprocessor(folder, tmp_path):
    from bert_cli.keras import Preprocessor

    return Preprocessor.load(str(folder), max_seq_length=20)([TEXT])["input_word_ids"].numpy(), ""


def convert(folder, tmp_path):
    run(convert_checkpoint.main, f"--from={folder}", f"--to={tmp_path / 'tf1' / 'bert_model.ckpt'}")
    return FeatureExtractor.load(str(tmp_path / "tf1")).extract([TEXT]), ""


def export(folder, tmp_path):
    run(export_model.main, "--format=onnx", f"--init_checkpoint={folder}", f"--export_dir={tmp_path / 'onnx'}")
    session = onnxruntime.InferenceSession(tmp_path / "onnx" / "model.onnx")
    ids = np.int64([Tokenizer.load(str(folder)).encode(TEXT)["input_ids"]])
    values = {"input_word_ids": ids, "input_mask": np.ones_like(ids), "input_type_ids": np.zeros_like(ids)}
    types = {node.name: np.int32 if "int32" in node.type else np.int64 for node in session.get_inputs()}
    modules = read_modules(str(tmp_path / "onnx"))
    texts = f"{modules.describe()} {modules.max_seq_length} {modules.prompts} {modules.lower_cases}"
    return session.run(None, {name: values[name].astype(types[name]) for name in types})[0], texts


CALLERS = (python, server, command, keras_encoder, keras_preprocessor, convert, export)
# Layers of Keras compute a part of a model, and a preprocessor has a length of its own.
FILES = {keras_encoder: {CONFIG}, keras_preprocessor: {TOKENIZER}}


def concerns(caller, file, key):
    return file in FILES.get(caller, {file}) and (caller, key) != (keras_preprocessor, "model_max_length")


def differ(first, second):
    """Return whether two results have other numbers, or another description of what follows them."""
    arrays = [np.asarray(values) for values, _ in (first, second)]
    if first[1] != second[1] or arrays[0].shape != arrays[1].shape:
        return True
    return bool(np.abs(arrays[0] - arrays[1]).max() > 1e-4)


@pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: caller.__name__)
def test_obeyed_keys_change_the_numbers(caller, tmp_path):
    """TensorFlow graphs cannot compute never_split, and say so."""
    plain_results = {}
    unchanged = []
    for number, change in enumerate(CHANGES):
        if not concerns(caller, change.file, change.key):
            continue
        others = change.others
        facts = json.dumps([change.file, others]) if others else ""
        if facts not in plain_results:
            (place := tmp_path / f"plain{number}").mkdir()
            plain_results[facts] = caller(make(place / "m", change.file, **others), place)
        (place := tmp_path / f"changed{number}").mkdir()
        folder = make(place / "m", change.file, **others | {change.key: change.value})
        try:
            is_seen = differ(plain_results[facts], caller(folder, place))
        except InputError as error:
            is_seen = change.key in str(error)
        if not is_seen:
            unchanged.append(change[:2])
    assert unchanged == []


@pytest.mark.parametrize("caller", CALLERS, ids=lambda caller: caller.__name__)
def test_refused_keys_are_named(caller, tmp_path, capsys):
    for number, (file, key, value) in enumerate(REFUSALS):
        if not concerns(caller, file, key):
            continue
        (place := tmp_path / str(number)).mkdir()
        folder = make(place / "m", file, **{key: value})
        with pytest.raises(InputError) as error:
            caller(folder, place)
        message = str(error.value) + capsys.readouterr().err
        assert file in message
        assert f"{key} is" in message


@pytest.mark.parametrize(
    "caller", [caller for caller in CALLERS if concerns(caller, CONFIG, "")], ids=lambda caller: caller.__name__
)
def test_sizes_of_another_network_are_refused(caller, tmp_path, capsys):
    for key, value in SHAPES.items():
        (place := tmp_path / key).mkdir()
        with pytest.raises(InputError) as error:
            caller(make(place / "m", **{key: value}), place)
        message = str(error.value) + capsys.readouterr().err
        assert "bert/" in message or "the encoder gives 16" in message, key


def test_doctor_names_a_refused_key(tmp_path, capsys):
    assert doctor.main([f"--init_checkpoint={make(tmp_path / 'm', is_decoder=True)}"]) != 0
    output = capsys.readouterr()
    assert "is_decoder is True: a causal network" in output.out + output.err


@pytest.mark.parametrize("file", [CONFIG, TOKENIZER])
def test_unknown_keys_are_an_error_with_strict(file, tmp_path, capsys):
    folder = make(tmp_path / "m", file, foo=1)
    (tmp_path / "in.txt").write_text(TEXT + "\n", encoding="utf-8")
    flags = [f"--init_checkpoint={folder}", f"--input_file={tmp_path / 'in.txt'}", f"--output_file={tmp_path / 'out'}"]
    assert extract_features.main([*flags, "--engine=onnxruntime", "--strict"]) == 1
    check_message(capsys.readouterr().err, f"{file}: not known here")
    warn_once.cache_clear()
    assert extract_features.main([*flags, "--engine=onnxruntime", "--allow_unknown"]) == 0
    assert capsys.readouterr().err.count(f"{file}: not known here, not used: foo") == 1
