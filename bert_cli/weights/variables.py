"""Variables of a checkpoint in any format: the interface of readers, and Google's names."""

import re
from collections.abc import Container, Iterable, Mapping
from typing import Protocol

import numpy as np


class Reader(Protocol):
    """An open checkpoint in any format.

    Attributes:
        description: name for messages.
        shapes: shapes by Google's name.
        unused: stored names that BERT does not use.
    """

    description: str
    shapes: dict[str, tuple[int, ...]]
    unused: list[str]

    @property
    def format_reader(self) -> "Reader":
        """Return the reader of the format's class, which knows more than variables."""
        return self

    def read(self, name: str) -> np.ndarray:
        """Return a variable's values."""
        ...

    def check_tied(self) -> None:
        """Raise InputError if the masked LM's output matrix differs from its word embeddings.

        Only Hugging Face's format can have a separate matrix.
        """
        return


# Scopes of ELECTRA's two networks. A generator without embeddings shares the discriminator's.
DISCRIMINATOR, GENERATOR = "electra", "generator"
STEP_NAME = "global_step"
# Position of bert-pretrain in its data, as two numbers. Their meaning depends on the data format.
POSITION_NAME = "input_position"
# Loss scale for float16, and the number of steps since its last change.
SCALE_NAME = "loss_scale"
GOOD_STEPS_NAME = "loss_scale_good_steps"
# Additional state in a checkpoint that is saved on a signal (see training.saved_state).
LOG_DECAY_NAME = "log_decay"
UNROUNDED_ENDING = "/unrounded"
_BOOKKEEPING_NAMES = (STEP_NAME, POSITION_NAME, SCALE_NAME, GOOD_STEPS_NAME, LOG_DECAY_NAME)
# Matches the number in encoder/layer_0 (Google), encoder.layer.0 or transformer.layer.0 (Hugging
# Face), and encoder_layer_0 (Keras).
_LAYER_NUMBER = re.compile(r"(?:(?<=encoder[/._]layer[/._])|(?<=transformer\.layer\.))\d+")
MOMENT_ENDINGS = ("/adam_m", "/adam_v")
# Endings after a kernel's name: the parts of a sum with an adapter, see model.lora.
LORA_A, LORA_B, LORA_BASE = "/lora_a", "/lora_b", "/lora_base"


def is_optimizer_state(name: str) -> bool:
    """Return whether a variable is an optimizer moment, or is only needed to resume a training."""
    return name == LOG_DECAY_NAME or name.endswith((*MOMENT_ENDINGS, UNROUNDED_ENDING)) or is_lora_variable(name)


def is_lora_variable(name: str) -> bool:
    """Return whether a variable exists only for the training of an adapter."""
    return name.endswith((LORA_A, LORA_B, LORA_BASE))


def saved_name(name: str, names: Container[str]) -> str:
    """Return the name under which a checkpoint has a trained variable.

    Args:
        name: the variable; under the name of a kernel with an adapter, a checkpoint has the sum.
        names: all variables.
    """
    return f"{name}{LORA_BASE}" if f"{name}{LORA_A}" in names else name


def has_moments(names: Iterable[str]) -> bool:
    """Return whether variables with these names include optimizer moments."""
    return any(name.endswith(MOMENT_ENDINGS) for name in names)


def weight_name_of_moment(name: str) -> str:
    """Return the name of a moment's weight; other names are unchanged."""
    return name.removesuffix(MOMENT_ENDINGS[0]).removesuffix(MOMENT_ENDINGS[1])


def is_training_state(name: str) -> bool:
    """Return whether a variable is training state and not a weight."""
    return name in _BOOKKEEPING_NAMES or is_optimizer_state(name)


def without_training_state(names: Iterable[str]) -> list[str]:
    """Return the names of weights, and of the step."""
    return [name for name in names if name == STEP_NAME or not is_training_state(name)]


def find_google_name(name: str, table: Mapping[str, str]) -> str | None:
    """Return Google's name for a weight in another format, or None if it is not in the table.

    Args:
        name: name in the other format.
        table: config.all_weight_names() by their names in the other format. Names for layer 0 apply
            to every layer.
    """
    number = _LAYER_NUMBER.search(name)
    google_name = table.get(_LAYER_NUMBER.sub("0", name, count=1))
    return google_name.replace("layer_0", f"layer_{number[0]}") if google_name and number else google_name
