"""Writing weights for transformers."""

import os
import stat

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, MASKED_LM, NEXT_SENTENCE, SPANS
from bert_cli.heads.all_heads import BertWithHeads
from bert_cli.model.layers import named_weights
from bert_cli.weights.hugging_face import (
    HuggingFaceReader,
    hugging_face_name,
    hugging_face_to_google_name,
    write_safetensors,
)
from tests.snapshots import raises

ALL = (MASKED_LM, NEXT_SENTENCE, CLASSIFIER, SPANS)


@pytest.fixture
def tensors(tiny_config, values_of):
    """Return random values for all weights and all heads."""
    rng = np.random.default_rng(0)
    values = values_of(named_weights(BertWithHeads(tiny_config(), ALL, {"output_weights": (3, 12)})))
    return {name: rng.normal(size=value.shape).astype(np.float32) for name, value in values.items()}


def test_names_are_inverted_exactly(tensors):
    names = {name: hugging_face_name(name) for name in tensors}
    assert {name: hugging_face_to_google_name(renamed) for name, renamed in names.items()} == {
        name: name for name in tensors
    }
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
    with raises(InputError, "output_bias: "):
        write_safetensors(str(tmp_path / "x"), {"output_bias": np.array([7e4], np.float32)}, "classifier", "float16")


def test_a_name_that_bert_does_not_have(tmp_path):
    with raises(InputError, "global_step: "):
        write_safetensors(str(tmp_path / "x"), {"global_step": np.zeros(())}, "encoder")


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
            with raises(InputError):
                reader.check_tied()
