"""Config files from Google, Hugging Face and this project: sizes, defaults, GELU, and all errors."""

import dataclasses
import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.model.config import BertConfig
from bert_cli.model.config_files import read_config, read_module_config, write_config
from tests.snapshots import raises

GOOGLE = {
    "attention_probs_dropout_prob": 0.2,
    "directionality": "bidi",
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.3,
    "hidden_size": 24,
    "initializer_range": 0.05,
    "intermediate_size": 40,
    "max_position_embeddings": 32,
    "num_attention_heads": 6,
    "num_hidden_layers": 5,
    "pooler_fc_size": 24,
    "type_vocab_size": 3,
    "vocab_size": 77,
}
HUGGING_FACE = GOOGLE | {
    "architectures": ["BertModel"],
    "model_type": "bert",
    "layer_norm_eps": 1e-5,
    "pad_token_id": 0,
}


@pytest.fixture
def save(tmp_path):
    """Return a function that writes values to a JSON file and returns its path."""

    def write(values, name="bert_config.json") -> str:
        path = tmp_path / name
        path.write_text(values if isinstance(values, str) else json.dumps(values), encoding="utf-8")
        return str(path)

    return write


def test_google_file(save):
    assert read_config(save(GOOGLE)) == BertConfig(
        vocab_size=77,
        hidden_size=24,
        num_hidden_layers=5,
        num_attention_heads=6,
        hidden_act="gelu",
        intermediate_size=40,
        hidden_dropout_prob=0.3,
        attention_probs_dropout_prob=0.2,
        max_position_embeddings=32,
        type_vocab_size=3,
        initializer_range=0.05,
        layer_norm_eps=1e-12,
        gelu="tanh",
    )


def test_hugging_face_file(save):
    config = read_config(save(HUGGING_FACE, "config.json"))
    assert config == dataclasses.replace(read_config(save(GOOGLE)), layer_norm_eps=1e-5, gelu="erf")


def test_defaults_equal_the_originals(save):
    config = read_config(save({"vocab_size": 10}))
    assert (config.hidden_size, config.num_hidden_layers, config.num_attention_heads) == (768, 12, 12)
    assert (config.intermediate_size, config.max_position_embeddings, config.type_vocab_size) == (3072, 512, 16)
    assert (config.hidden_dropout_prob, config.attention_probs_dropout_prob) == (0.1, 0.1)
    assert (config.initializer_range, config.layer_norm_eps, config.activation) == (0.02, 1e-12, "gelu_tanh")


def test_hugging_faces_electra_defaults(save):
    config = read_config(save({"vocab_size": 10, "model_type": "electra"}))
    assert (config.embedding_size, config.hidden_size, config.intermediate_size) == (128, 256, 1024)
    assert (config.num_attention_heads, config.type_vocab_size, config.activation) == (4, 2, "gelu_erf")
    assert (config.network.pooler_activation, config.masked_lm_activation) == ("gelu_erf", "gelu_erf")


@pytest.mark.parametrize("model_type", ["bert", "distilbert"])
def test_only_electra_has_embeddings_with_another_width(save, model_type):
    config = read_config(save({"vocab_size": 10, "embedding_size": 128, "model_type": model_type}))
    assert (config.embedding_width, "embedding_size" in config.values()) == (768, False)


def test_hugging_faces_default_number_of_token_types(save):
    assert read_config(save({"vocab_size": 10, "model_type": "bert"})).type_vocab_size == 2


@pytest.mark.parametrize(
    ("values", "name", "activation"),
    [
        ({}, "bert_config.json", "gelu_tanh"),
        ({}, "my_settings.json", "gelu_tanh"),
        ({}, "config.json", "gelu_erf"),
        ({"model_type": "bert"}, "bert_config.json", "gelu_erf"),
        ({"architectures": ["BertForMaskedLM"]}, "other.json", "gelu_erf"),
        ({"transformers_version": "4.1"}, "other.json", "gelu_erf"),
        ({"gelu": "erf"}, "bert_config.json", "gelu_erf"),
        ({"gelu": "tanh"}, "config.json", "gelu_tanh"),
        ({"hidden_act": "gelu_new"}, "config.json", "gelu_tanh"),
        ({"hidden_act": "gelu_pytorch_tanh"}, "config.json", "gelu_tanh"),
        ({"hidden_act": "gelu_python"}, "bert_config.json", "gelu_erf"),
        ({"hidden_act": "GELU"}, "bert_config.json", "gelu_tanh"),
        ({"hidden_act": "ReLU"}, "bert_config.json", "relu"),
        ({"hidden_act": "tanh"}, "config.json", "tanh"),
        ({"hidden_act": "linear"}, "bert_config.json", "linear"),
        ({"hidden_act": ""}, "bert_config.json", "linear"),
        ({"hidden_act": None}, "bert_config.json", "linear"),
    ],
)
def test_activation_depends_on_the_files_source(save, values, name, activation):
    assert read_config(save({"vocab_size": 10} | values, name)).activation == activation


@pytest.mark.parametrize("form", ["erf", "tanh"])
@pytest.mark.parametrize("name", ["bert_config.json", "config.json"])
def test_flag_overrides_the_files_source(save, name, form):
    for values in ({}, {"gelu": "erf"}, {"gelu": "tanh"}):
        assert read_config(save({"vocab_size": 10} | values, name), form).activation == f"gelu_{form}"


def test_flag_does_not_change_other_activations(save):
    for act, activation in (("gelu_new", "gelu_tanh"), ("relu", "relu")):
        assert read_config(save({"vocab_size": 10, "hidden_act": act}), "erf").activation == activation


@pytest.mark.parametrize(
    "source",
    [
        GOOGLE,
        HUGGING_FACE,
        GOOGLE | {"hidden_act": None},
        {"vocab_size": 9},
        {"vocab_size": 9, "model_type": "electra"},
    ],
)
@pytest.mark.parametrize("gelu", ["auto", "erf", "tanh"])
def test_round_trip(save, tmp_path, source, gelu):
    config = read_config(save(source, "given.json"), gelu)
    path = tmp_path / "bert_config.json"
    write_config(str(path), config)
    assert read_config(str(path)) == config
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


def test_google_config_is_written_like_the_original(save, tmp_path):
    path = tmp_path / "written.json"
    write_config(str(path), read_config(save(GOOGLE)))
    original = {key: value for key, value in GOOGLE.items() if key not in ("directionality", "pooler_fc_size")}
    assert path.read_text() == json.dumps(original, indent=2, sort_keys=True) + "\n"


def test_values_that_the_original_lacks_are_written_only_if_they_differ(save, tmp_path):
    path = tmp_path / "written.json"
    write_config(str(path), read_config(save(HUGGING_FACE, "config.json")))
    written = json.loads(path.read_text())
    assert (written["gelu"], written["layer_norm_eps"]) == ("erf", 1e-5)


BAD_VALUES = [
    ({"vocab_size": None}, "vocab_size must be a whole number above 0, found None"),
    ({"vocab_size": 0}, "vocab_size must be a whole number above 0, found 0"),
    ({"hidden_size": 24.0}, "hidden_size must be a whole number above 0, found 24.0"),
    ({"num_hidden_layers": -1}, "num_hidden_layers must be a whole number above 0, found -1"),
    ({"num_attention_heads": "6"}, "num_attention_heads must be a whole number above 0, found '6'"),
    ({"intermediate_size": True}, "intermediate_size must be a whole number above 0, found True"),
    ({"max_position_embeddings": []}, "max_position_embeddings must be a whole number above 0, found []"),
    ({"type_vocab_size": 0}, "type_vocab_size must be a whole number above 0, found 0"),
    ({"hidden_dropout_prob": 1.0}, "hidden_dropout_prob must be a number from 0 to 0.99, found 1.0"),
    ({"hidden_dropout_prob": float("nan")}, "hidden_dropout_prob must be a number from 0 to 0.99, found nan"),
    ({"attention_probs_dropout_prob": -0.1}, "attention_probs_dropout_prob must be a number from 0 to 0.99"),
    ({"initializer_range": None}, "initializer_range must be a number from 0 to 0.99, found None"),
    ({"layer_norm_eps": "1e-12"}, "layer_norm_eps must be a number from 0 to 0.99, found '1e-12'"),
    ({"hidden_dropout_prob": False}, "hidden_dropout_prob must be a number from 0 to 0.99, found False"),
    ({"hidden_act": 3}, "hidden_act must be a name, found 3"),
    ({"hidden_act": "swish"}, "hidden_act 'swish' is not one of linear, relu, tanh, gelu, gelu_new"),
    ({"gelu": "exact"}, "gelu must be erf or tanh, found 'exact'"),
    ({"num_attention_heads": 5}, "hidden_size 24 is not a multiple of num_attention_heads 5"),
    *(
        (
            {"model_type": name, "type_vocab_size": 0},  # DeBERTa's value
            f"model_type is {name!r}, which is another network than BERT and cannot be loaded; take {instead}",
        )
        for name, instead in (
            ("roberta", "bert-base-cased instead, or bert-large-cased; docs/models.md"),
            ("deberta-v2", "a BERT, such as bert-base-uncased; docs/models.md says where to get it"),
            ("gpt2", "a BERT, such as bert-base-uncased; docs/models.md says where to get it"),
        )
    ),
    (
        {"position_embedding_type": "relative_key"},
        "position_embedding_type is 'relative_key': other positions than Google's BERT",
    ),
    (
        {"model_type": "electra", "architectures": ["ElectraForMultipleChoice"], "summary_activation": None},
        "summary_activation None is not supported: the multiple-choice head of ELECTRA is computed with 'gelu' alone",
    ),
    (
        {"model_type": "electra", "architectures": ["ElectraForMultipleChoice"], "summary_type": "mean"},
        "summary_type 'mean' is not supported",
    ),
]


def test_electra_classifiers_have_no_summary(save):
    """transformers' ElectraForSequenceClassification ignores the multiple-choice head's settings."""
    values = GOOGLE | {"model_type": "electra", "summary_type": "mean", "summary_use_proj": False}
    for name in ("ElectraForSequenceClassification", "ElectraForPreTraining"):
        assert read_config(save(values | {"architectures": [name]})).model_type == "electra"
    chosen = values | {"architectures": ["ElectraForMultipleChoice"], "summary_type": "first", "summary_use_proj": True}
    assert read_config(save(chosen)).model_type == "electra"


@pytest.mark.parametrize(("change", "message"), BAD_VALUES)
def test_invalid_value_is_reported_with_file_and_key(save, change, message):
    path = save(GOOGLE | change)
    with pytest.raises(InputError) as caught:
        read_config(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ['{"vocab_size": 9,\n "hidden_size": }', "", "[9]", '{"hidden_size": 24}', '{"vocab_size": "\udcff"}'],
)
def test_invalid_file_is_reported(tmp_path, text):
    path = tmp_path / "bert_config.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with raises(InputError, path):
        read_config(str(path))


def test_missing_file_is_reported(tmp_path):
    path = str(tmp_path / "none.json")
    with raises(InputError, "none.json: "):
        read_config(path)


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_size": 10**9, "num_attention_heads": 1},
        {"vocab_size": 10**9},
        {"num_hidden_layers": 10**7},
        {"max_position_embeddings": 2**31 - 1},
        {"intermediate_size": 10**9},
        {"type_vocab_size": 10**9},
        {"hidden_size": int("9" * 4300)},
    ],
)
@pytest.mark.parametrize("name", ["bert_config.json", "config.json"])
def test_sizes_that_exceed_any_memory_are_refused_immediately(tmp_path, change, name):
    path = tmp_path / name
    path.write_text(json.dumps({"vocab_size": 30522} | change))
    with raises(InputError, f"{path}: ") as caught:
        read_config(str(path))
    assert len(str(caught.value)) < len(str(path)) + 200


@pytest.mark.parametrize("change", [{"hidden_size": "16"}, {"num_hidden_layers": True}, {"hub_module": ["m"]}])
def test_invalid_values_in_a_module_are_reported(tmp_path, change):
    sound = {
        "hub_module": "m",
        "vocab_size": 9,
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "max_position_embeddings": 16,
    }
    path = tmp_path / "bert_config.json"
    path.write_text(json.dumps(sound | change))
    with raises(InputError, f"{path}: "):
        read_module_config(str(path))
