"""Descriptions of models for people."""

import json

from bert_cli.model.config_files import read_config
from bert_cli.opening.description import ModelDescription, describe_config


def test_a_config_file_describes_an_encoder_without_head(tmp_path):
    path = tmp_path / "bert_config.json"
    values = {
        "vocab_size": 5,
        "hidden_size": 4,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "intermediate_size": 8,
    }
    path.write_text(json.dumps(values | {"max_position_embeddings": 6, "type_vocab_size": 2}), encoding="utf-8")
    model = describe_config(str(path), read_config(str(path)))
    assert model.parameters["total"] == (5 + 6 + 2 + 2) * 4 + 4 * 20 + 40 + 36 + 4 * 4 + 20
    assert model.lines()["network"] == "BERT; heads: none"


def test_a_module_has_only_the_line_with_parameters():
    model = ModelDescription("a module", None, {"bert/pooler/dense/kernel": (4, 4)})
    assert model.lines() == {"model": "a module: 16 parameters: pooler 16"}
