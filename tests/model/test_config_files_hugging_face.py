"""Hugging Face's config.json."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.model.config_files import (
    hugging_face_config,
    read_config,
    read_hugging_face_labels,
    read_hugging_face_problem,
)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"hidden_act": "gelu", "gelu": "tanh"}, "gelu_new"),
        ({"hidden_act": "gelu", "gelu": "erf"}, "gelu"),
        ({"hidden_act": "gelu_new", "gelu": "erf"}, "gelu_new"),
        ({"hidden_act": "relu"}, "relu"),
    ],
)
def test_the_config_is_restored(tiny_config, tmp_path, ours, theirs):
    config = tiny_config(**ours, layer_norm_eps=1e-7)
    values = hugging_face_config(config, "tagger", ("O", "B-X"))
    assert values["hidden_act"] == theirs
    assert values["architectures"] == ["BertForTokenClassification"]
    assert values["label2id"] == {"O": 0, "B-X": 1}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values))
    restored = read_config(str(path))
    assert restored.activation == config.activation
    assert (restored.layer_norm_eps, restored.intermediate_size) == (1e-7, 17)
    assert read_hugging_face_labels(str(path)) == (("O", "B-X"), "tagger")


@pytest.mark.parametrize("name", ["multi_label_classification", None])
def test_the_problem_type(tiny_config, tmp_path, name):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(hugging_face_config(tiny_config(), "classifier", ("a",), problem_type=name)))
    assert read_hugging_face_problem(str(path)) == (name, "classifier")
    # Only a text classifier has a problem type in its file.
    path.write_text(json.dumps(hugging_face_config(tiny_config(), "tagger", ("O",), problem_type=name)))
    assert read_hugging_face_problem(str(path)) == (None, "tagger")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, (None, None)),
        ({"architectures": ["BertModel"], "id2label": {"0": "LABEL_0", "1": "LABEL_1"}}, (None, "encoder")),
        ({"architectures": ["OtherModel"], "id2label": {"1": "b", "0": "a"}}, (("a", "b"), None)),
    ],
)
def test_labels(tmp_path, values, expected):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(values))
    assert read_hugging_face_labels(str(path)) == expected


@pytest.mark.parametrize("text", ["{", "[]", '{"id2label": {"0": "a", "2": "b"}}', '{"id2label": ["a"]}'])
def test_labels_of_a_bad_config(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"config\.json"):
        read_hugging_face_labels(str(path))


def test_two_outputs_with_one_name_are_refused(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"id2label": {"0": "good", "1": "other", "2": "bad", "3": "other"}}))
    with pytest.raises(InputError, match="id2label names both output 1 and output 3 'other'; give each a name"):
        read_hugging_face_labels(str(path))
