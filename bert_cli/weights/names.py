"""Names that training leaves in a checkpoint beside the weights; no TensorFlow."""

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
