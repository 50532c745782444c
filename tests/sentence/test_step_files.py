"""Weights of modules after pooling."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.sentence.step_files import STEP_READERS
from tests.sentence_cases import folder_of
from tests.snapshots import raises


def test_a_pickle_is_refused_with_the_way_to_safetensors(tmp_path):
    folder = folder_of("dense", tmp_path / "m") / "2_Dense"
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with raises(InputError, "2_Dense: "):
        STEP_READERS["Dense"](str(folder), False)


def test_missing_weights_are_named(tmp_path):
    folder = folder_of("chain", tmp_path / "m")
    (folder / "4_LayerNorm" / "model.safetensors").write_bytes((folder / "2_Dense/model.safetensors").read_bytes())
    with pytest.raises(InputError, match=r"lacks norm\.weight"):
        STEP_READERS["LayerNorm"](str(folder / "4_LayerNorm"), False)
    (folder / "4_LayerNorm" / "model.safetensors").unlink()
    with raises(InputError, "4_LayerNorm: "):
        STEP_READERS["LayerNorm"](str(folder / "4_LayerNorm"), False)
