"""Names and shapes of encoder variables."""

import pytest

from bert_cli.model.config import PROJECTION, all_weight_names, encoder_shapes
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights


@pytest.mark.parametrize(
    ("changes", "projected"),
    [
        ({}, None),
        ({"type_vocab_size": 0, "model_type": "distilbert"}, None),
        ({"embedding_size": 7, "model_type": "electra"}, (7, 12)),
        ({"embedding_size": 12, "model_type": "electra"}, None),
    ],
)
def test_config_shapes_equal_variable_shapes(tiny_config, changes, projected):
    config = tiny_config(intermediate_size=17, **changes)
    shapes = encoder_shapes(config)
    assert shapes == {name: tuple(variable.shape) for name, variable in named_weights(BertEncoder(config)).items()}
    assert shapes.get(f"{PROJECTION}/kernel") == projected


def test_weight_names_have_encoder_and_heads():
    for name in (
        "bert/embeddings/word_embeddings",
        "bert/encoder/layer_0/attention/self/query/kernel",
        "cls/predictions/output_bias",
        "cls/squad/output_weights",
        "output_bias",
        "discriminator_predictions/dense_1/bias",
    ):
        assert name in all_weight_names()
    assert len(set(all_weight_names())) == len(all_weight_names())
