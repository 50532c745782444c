"""Google's names: of the variables of a BERT with all its heads, and what training leaves beside them; no TensorFlow."""

import re

from bert_cli.model.config import BertConfig, encoder_shapes

_HEAD = ("output_weights", "output_bias")
# Of an encoder with one layer and of all heads; the weights of a layer of the network in the order in which it makes them.
_ONE_LAYER = (
    *encoder_shapes(BertConfig(1, 1, 1, 1, intermediate_size=1, max_position_embeddings=1, type_vocab_size=1)),
    *(f"cls/predictions/transform/{name}" for name in ("dense/kernel", "dense/bias", "LayerNorm/beta", "LayerNorm/gamma")),
    "cls/predictions/output_bias",
    *(f"{scope}{name}" for scope in ("cls/seq_relationship/", "cls/squad/", "") for name in _HEAD),
)  # fmt: skip

STEP_NAME = "global_step"
# Where bert-pretrain stands in its data: two numbers whose meaning depends on the kind of data.
POSITION_NAME = "input_position"
# The loss scale of training in float16, and the steps since it last changed.
SCALE_NAME = "loss_scale"
GOOD_STEPS_NAME = "loss_scale_good_steps"
# What a checkpoint that a signal asked for keeps besides, see training.checkpoints; remainders are of earlier versions.
LOG_DECAY_NAME = "log_decay"
UNROUNDED_ENDING = "/unrounded"
REMAINDER_ENDING = "/remainder"
_BOOKKEEPING = (STEP_NAME, POSITION_NAME, SCALE_NAME, GOOD_STEPS_NAME, LOG_DECAY_NAME)
_ENDINGS = ("/adam_m", "/adam_v", UNROUNDED_ENDING, REMAINDER_ENDING)


def is_of_training(name: str) -> bool:
    """Whether a name is none of a weight."""
    return name in _BOOKKEEPING or name.endswith(_ENDINGS)
