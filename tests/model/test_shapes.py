"""The names and shapes of an encoder's variables, known before there is one."""

from bert_cli.model.config import encoder_shapes
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights


def test_the_shapes_of_a_config_are_those_of_its_variables(tiny_config):
    config = tiny_config(intermediate_size=17)
    variables = named_weights(BertEncoder(config))
    assert encoder_shapes(config) == {name: tuple(variable.shape) for name, variable in variables.items()}
