"""Checkpoints of small pre-trained models.

Trained models have one layer, because tracing takes most of the time.
"""

import pathlib

import pytest

from tests.commands.conftest import CONFIG, TWO_LAYERS, write_model


def write_checkpoint(folder: pathlib.Path, config: dict) -> pathlib.Path:
    """Return a directory with vocab.txt, bert_config.json and a bert_model.ckpt of random weights."""
    from bert_cli.model.config_files import read_config
    from bert_cli.model.encoder import BertEncoder
    from bert_cli.model.layers import named_weights
    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    write_model(folder, config)
    encoder = BertEncoder(read_config(str(folder / "bert_config.json")), seed=3)
    write_tf1(str(folder / "bert_model.ckpt"), {name: v.numpy() for name, v in named_weights(encoder).items()})
    return folder


@pytest.fixture(scope="session")
def pretrained(tmp_path_factory) -> pathlib.Path:
    return write_checkpoint(tmp_path_factory.mktemp("pretrained"), TWO_LAYERS)


@pytest.fixture(scope="session")
def one_layer(tmp_path_factory) -> pathlib.Path:
    return write_checkpoint(tmp_path_factory.mktemp("one_layer"), CONFIG)


@pytest.fixture(scope="session")
def without_dropout(tmp_path_factory) -> pathlib.Path:
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    return write_checkpoint(tmp_path_factory.mktemp("without_dropout"), CONFIG | rates)
