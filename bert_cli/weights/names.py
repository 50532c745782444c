"""Google's names: of the variables of a BERT with all its heads, and of the values that training
stores with them; no TensorFlow.
"""

import re
from collections.abc import Iterable, Mapping

from bert_cli.base.head_types import pretraining_shapes
from bert_cli.model.config import BertConfig
from bert_cli.model.shapes import encoder_shapes

# The weights of a BERT or a relative of it, of one layer with all heads.
WEIGHT_NAMES = (
    *encoder_shapes(
        BertConfig(1, 1, 1, 1, intermediate_size=1, max_position_embeddings=1, type_vocab_size=1, embedding_size=2)
    ),
    *pretraining_shapes(hidden_size=1, embedding_width=2, vocab_size=1),
    *(f"{scope}output_{name}" for scope in ("cls/squad/", "") for name in ("weights", "bias")),
    *(f"discriminator_predictions/{layer}/{name}" for layer in ("dense", "dense_1") for name in ("kernel", "bias")),
)
STEP_NAME = "global_step"
# The position of bert-pretrain in its data: two numbers; their meaning depends on the kind of data.
POSITION_NAME = "input_position"
# The loss scale of training in float16, and the steps since it last changed.
SCALE_NAME = "loss_scale"
GOOD_STEPS_NAME = "loss_scale_good_steps"
# What a checkpoint that a signal asked for keeps besides, see training.saved_state; remainders are
# of earlier versions.
LOG_DECAY_NAME = "log_decay"
UNROUNDED_ENDING = "/unrounded"
REMAINDER_ENDING = "/remainder"
_BOOKKEEPING = (STEP_NAME, POSITION_NAME, SCALE_NAME, GOOD_STEPS_NAME, LOG_DECAY_NAME)
# After "encoder/layer_" of Google, "encoder.layer." and "transformer.layer." of Hugging Face,
# "encoder_layer_" of Keras.
_LAYER_NUMBER = re.compile(r"(?:(?<=encoder[/._]layer[/._])|(?<=transformer\.layer\.))\d+")
MOMENT_ENDINGS = ("/adam_m", "/adam_v")


def is_of_optimizer(name: str) -> bool:
    """Whether a name is of a moment, or of a number that only a checkpoint with moments needs."""
    return name == LOG_DECAY_NAME or name.endswith((*MOMENT_ENDINGS, UNROUNDED_ENDING, REMAINDER_ENDING))


def has_moments(names: Iterable[str]) -> bool:
    """Whether a checkpoint of these names holds the moments of an optimizer."""
    return any(name.endswith(MOMENT_ENDINGS) for name in names)


def weight_of(name: str) -> str:
    """The weight that a moment is of; any other name as it is."""
    return name.removesuffix(MOMENT_ENDINGS[0]).removesuffix(MOMENT_ENDINGS[1])


def is_of_training(name: str) -> bool:
    """Whether a name is none of a weight."""
    return name in _BOOKKEEPING or is_of_optimizer(name)


def of_any_layer(foreign: str, table: Mapping[str, str]) -> str | None:
    """Google's name of a weight that another format calls `foreign`; None for a name that is not in
    the table.

    table: that format's names -> WEIGHT_NAMES. Its names of layer 0 serve for every layer, with the
    number put in.
    """
    number = _LAYER_NUMBER.search(foreign)
    known = table.get(_LAYER_NUMBER.sub("0", foreign, count=1))
    return known.replace("layer_0", f"layer_{number[0]}") if known and number else known
