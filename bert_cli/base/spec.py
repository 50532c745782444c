"""The table of all arrays that a model is fed with, and of the features of stored records, for all
later stages.

Letters in shapes: B batch, S sequence, L labels, K endings or windows, P predictions, W width of a
frozen encoder's states.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

_Values = TypeVar("_Values")


class Column(NamedTuple):
    """One array of a batch: `shape` in the letters above, `dtype` as NumPy calls it."""

    name: str
    shape: tuple[str, ...]
    dtype: str


# Of an encoder: token ids (0 after the end), 1 for a token and 0 after the end, and 0 or 1 for the
# first or second text.
ENCODER = tuple(Column(name, ("B", "S"), "int32") for name in ("input_word_ids", "input_mask", "input_type_ids"))
# The names of the inputs of Google's saved models on TensorFlow Hub.
INPUTS = tuple(column.name for column in ENCODER)
INPUT_MASK = INPUTS[1]


def encoder_inputs(batch: Mapping[str, _Values]) -> dict[str, _Values]:
    """What an encoder reads of a batch."""
    return {name: batch[name] for name in INPUTS}


# In addition to the columns of a classifier: the logits of its teacher, and 1 for a row with a
# label, 0 for one without.
DISTILLATION = (
    Column("teacher_logits", ("B", "L"), "float32"),
    Column("has_label", ("B",), "float32"),
)


def with_windows(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns of a batch in which each row has up to K windows; one without tokens is none."""
    return tuple(column._replace(shape=("B", "K", "S")) if column in ENCODER else column for column in columns)


def with_states(columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns of a batch that has, in place of the tokens of each sequence, a row of what a
    frozen encoder says of it.

    Of the mask the first token is left, S = 1: how many sequences there are decides what dropout
    draws.
    """
    states = Column("states", (*columns[0].shape[:-1], "W"), "float32")
    return (
        *(column for column in columns if column.name not in INPUTS or column.name == INPUT_MASK),
        states,
    )


# Of the answer's first and last token; 0, which is [CLS], for none.
SQUAD = (
    *ENCODER,
    Column("start_positions", ("B",), "int32"),
    Column("end_positions", ("B",), "int32"),
)
# label_ids: -1 for a piece that is not trained. label_weights: what a piece counts in the loss of
# the whole batch.
_TAGS = (Column("label_ids", ("B", "S"), "int32"), Column("label_weights", ("B", "S"), "float32"))
TAGGING = (*ENCODER, *_TAGS)
# The labelled pieces alone, with what a frozen encoder says of them.
TAGGING_STATES = (*_TAGS, Column("states", ("B", "S", "W"), "float32"))
_MASKS = Column("masked_lm_positions", ("B", "P"), "int32")
# masked_lm_weights: 0 for an empty place; see features.pretraining_batch.
PRETRAINING = (
    *ENCODER,
    _MASKS,
    Column("masked_lm_ids", ("B", "P"), "int32"),
    Column("masked_lm_weights", ("B", "P"), "float32"),
    Column("next_sentence_labels", ("B",), "int32"),
)
FILL_MASK = (*ENCODER, _MASKS)
# counted: 1 for the tokens of which vectors are pooled.
EXTRACTION = (*ENCODER, Column("counted", ("B", "S"), "int32"))


class Feature(NamedTuple):
    """One feature: `dtype` is "int64" or "float32", the kinds that a tf.train.Example has; `length`
    in values.
    """

    name: str
    dtype: str
    length: int


def pretraining_features(max_seq_length: int, max_predictions_per_seq: int) -> tuple[Feature, ...]:
    """What bert-create-pretraining-data writes and bert-pretrain reads, as in the original.

    input_ids             tokens, 0 after the end
    input_mask            1 for a token, 0 after the end
    segment_ids           0 up to the first [SEP], 1 from there to the second
    masked_lm_positions   of the tokens to predict, ascending, 0 after the last
    masked_lm_ids         the tokens to predict
    masked_lm_weights     1 for a prediction, 0 after the last
    next_sentence_labels  1 where the second text is a random one, 0 where it follows
    """
    return (
        Feature("input_ids", "int64", max_seq_length),
        Feature("input_mask", "int64", max_seq_length),
        Feature("segment_ids", "int64", max_seq_length),
        Feature("masked_lm_positions", "int64", max_predictions_per_seq),
        Feature("masked_lm_ids", "int64", max_predictions_per_seq),
        Feature("masked_lm_weights", "float32", max_predictions_per_seq),
        Feature("next_sentence_labels", "int64", 1),
    )
