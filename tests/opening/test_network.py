"""A BERT's config is read from its files and compared with its checkpoint."""

import dataclasses
import json

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.model.config import BertConfig
from bert_cli.opening.network import check_large_model, load_bert
from bert_cli.opening.paths import pretrained_model
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from bert_cli.weights.path import TF1, CheckpointPath
from tests.snapshots import raises


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("intermediate_size", 1_200_000),
        ("vocab_size", 1_000_000),
        ("max_position_embeddings", 1_000_000),
    ],
)
def test_a_damaged_config_is_refused_before_a_large_model_is_built(key, value):
    """The weights would fit into memory on many machines, but training would not."""
    checkpoint = pretrained_model()
    config = dataclasses.replace(load_bert(checkpoint, 10_000), **{key: value})
    with raises(InputError) as caught:
        check_large_model(config, checkpoint)
    advice = "vocab_size in its config to 10000" if key == "vocab_size" else "does --bert_config_file belong to this"
    assert advice in str(caught.value)


def test_a_small_model_is_compared_when_it_is_loaded(tmp_path):
    """The checkpoint has no weights, so this check must not open it."""
    (tmp_path / "bert_config.json").write_text(json.dumps({"vocab_size": 7}))
    checkpoint = CheckpointPath(TF1, str(tmp_path / "bert_model.ckpt"))
    check_large_model(BertConfig(7, 8, 1, 2), checkpoint)
    assert load_bert(checkpoint).hidden_size == 768


def test_a_file_without_a_vocabulary_size_gets_it_from_the_weights_or_the_caller(tmp_path):
    (tmp_path / "bert_config.json").write_text("{}")
    checkpoint = CheckpointPath(TF1, str(tmp_path / "bert_model.ckpt"))
    write_tf1(checkpoint.location, {"bert/embeddings/word_embeddings": np.zeros((9, 4), np.float32)})
    assert load_bert(checkpoint).vocab_size == 9
    assert load_bert(checkpoint, vocab_size=10).vocab_size == 9
    write_tf1(checkpoint.location, {"global_step": np.int64(1)})
    assert load_bert(checkpoint, vocab_size=10).vocab_size == 10
    with pytest.raises(InputError, match="has no vocab_size"):
        load_bert(checkpoint)


def test_a_missing_config_is_an_error(tmp_path):
    with raises(InputError, "--bert_config_file"):
        load_bert(CheckpointPath(TF1, str(tmp_path / "bert_model.ckpt")))
