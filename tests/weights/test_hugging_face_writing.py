"""Writing weights and config for transformers."""

import json
import os
import stat

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, MASKED_LM, NEXT_SENTENCE, SPANS
from bert_cli.heads.all_heads import BertWithHeads
from bert_cli.model.config_files import read_config
from bert_cli.model.layers import named_weights
from bert_cli.problem_types.registry import PROBLEM_TYPES
from bert_cli.weights.hugging_face import (
    HuggingFaceReader,
    google_name,
    hugging_face_config,
    hugging_face_name,
    read_hugging_face_labels,
    read_hugging_face_problem,
    write_safetensors,
)

ALL = (MASKED_LM, NEXT_SENTENCE, CLASSIFIER, SPANS)


@pytest.fixture
def tensors(tiny_config, values_of):
    """Return random values for all weights and all heads."""
    rng = np.random.default_rng(0)
    values = values_of(named_weights(BertWithHeads(tiny_config(), ALL, (3, 12))))
    return {name: rng.normal(size=value.shape).astype(np.float32) for name, value in values.items()}


def test_names_are_inverted_exactly(tensors):
    names = {name: hugging_face_name(name) for name in tensors}
    assert {name: google_name(renamed) for name, renamed in names.items()} == {name: name for name in tensors}
    assert len(set(names.values())) == len(tensors)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bert/encoder/layer_11/attention/output/dense/kernel", "bert.encoder.layer.11.attention.output.dense.weight"),
        ("bert/embeddings/LayerNorm/gamma", "bert.embeddings.LayerNorm.weight"),
        ("bert/embeddings/word_embeddings", "bert.embeddings.word_embeddings.weight"),
        ("cls/predictions/transform/LayerNorm/beta", "cls.predictions.transform.LayerNorm.bias"),
        ("cls/squad/output_weights", "qa_outputs.weight"),
        ("global_step", None),
        ("bert/pooler/dense/kernel/adam_m", None),
    ],
)  # fmt: skip
def test_hugging_face_name(name, expected):
    assert hugging_face_name(name) == expected


def test_weights_are_restored_bit_for_bit(tensors, tmp_path):
    path = str(tmp_path / "model.safetensors")
    tensors["output_bias"] = np.array([-0.0, 1e-45, np.nan], np.float32)
    write_safetensors(path, tensors, "pretraining")
    with safe_open(path, "np") as file:
        assert file.metadata() == {"format": "pt"}
    reader = HuggingFaceReader(str(tmp_path))
    assert reader.unused == []
    assert {name: reader.read(name).tobytes() for name in reader.shapes} == {
        name: value.tobytes() for name, value in tensors.items()
    }


def test_kernels_are_transposed(tensors, tmp_path):
    path = str(tmp_path / "model.safetensors")
    write_safetensors(path, tensors, "encoder")
    kernel = load_file(path)["encoder.layer.1.intermediate.dense.weight"]
    np.testing.assert_array_equal(kernel, tensors["bert/encoder/layer_1/intermediate/dense/kernel"].T)


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o002, 0o664), (0o077, 0o600)])
def test_the_file_mode_follows_the_umask(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_safetensors(str(tmp_path / "w"), {"output_bias": np.zeros(2, np.float32)}, "classifier")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "w").stat().st_mode) == mode


@pytest.mark.parametrize(("dtype", "value"), [("float16", 1e-9), ("bfloat16", 1e30)])
def test_narrow_types(tensors, tmp_path, dtype, value):
    path = str(tmp_path / "model.safetensors")
    write_safetensors(path, {"output_bias": np.array([1.0, value], np.float32)}, "classifier", dtype)
    assert str(load_file(path)["classifier.bias"].dtype) == dtype


def test_a_number_that_float16_cannot_hold(tmp_path):
    with pytest.raises(InputError, match="output_bias: has numbers above the largest float16"):
        write_safetensors(str(tmp_path / "x"), {"output_bias": np.array([7e4], np.float32)}, "classifier", "float16")


def test_a_name_that_bert_does_not_have(tmp_path):
    with pytest.raises(InputError, match="global_step: Hugging Face's BERT has no such weight"):
        write_safetensors(str(tmp_path / "x"), {"global_step": np.zeros(())}, "encoder")


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


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("single_label", "single_label_classification"),
        ("multi_label", "multi_label_classification"),
        ("regression", "regression"),
        (None, None),
    ],
)
def test_the_problem_type(tiny_config, tmp_path, ours, theirs):
    path = tmp_path / "config.json"
    values = hugging_face_config(tiny_config(), "classifier", ("a",), problem_type=PROBLEM_TYPES.get(ours))
    path.write_text(json.dumps(values))
    assert values.get("problem_type") == theirs
    assert read_hugging_face_problem(str(path)) is PROBLEM_TYPES.get(ours)
    assert "problem_type" not in hugging_face_config(
        tiny_config(), "tagger", ("O",), problem_type=PROBLEM_TYPES.get(ours)
    )


def test_multiple_choice_follows_from_the_class(tiny_config, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(hugging_face_config(tiny_config(), "multiple_choice", None)))
    assert read_hugging_face_problem(str(path)) is PROBLEM_TYPES["multiple_choice"]


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


def test_an_untied_decoder_is_refused(tensors, tmp_path):
    from safetensors.numpy import save_file

    words = tensors["bert/embeddings/word_embeddings"]
    for decoder, is_copy in ((words.copy(), True), (words + 1, False)):
        save_file(
            {"bert.embeddings.word_embeddings.weight": words, "cls.predictions.decoder.weight": decoder},
            str(tmp_path / "model.safetensors"),
        )
        reader = HuggingFaceReader(str(tmp_path))
        if is_copy:
            reader.check_tied()
        else:
            with pytest.raises(InputError, match=r"decoder\.weight differs from bert/embeddings/word_embeddings"):
                reader.check_tied()
