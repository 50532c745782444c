"""Arrays that models are fed with, and features in stored records.

Letters in shapes: B batch, S sequence, L labels, K choices or windows, P predictions, W width of a
frozen encoder's states.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

_Values = TypeVar("_Values")


class BatchColumn(NamedTuple):
    """An array of a batch: shape in the letters above, dtype as in NumPy."""

    name: str
    shape: tuple[str, ...]
    dtype: str


# Encoder inputs: token ids (0 for padding), mask (1 for a token, 0 for padding), and segment (0 for
# the first text, 1 for the second).
ENCODER = tuple(BatchColumn(name, ("B", "S"), "int32") for name in ("input_word_ids", "input_mask", "input_type_ids"))
# Google's saved models on TensorFlow Hub use the same input names.
INPUTS = tuple(column.name for column in ENCODER)
INPUT_MASK = INPUTS[1]
# Rows of the word table, float32 [B, S, E], which may replace the token ids.
WORD_EMBEDDINGS = "input_word_embeddings"


def encoder_inputs(batch: Mapping[str, _Values]) -> dict[str, _Values]:
    """Return a batch's encoder inputs."""
    return {name: batch[name] for name in INPUTS}


# Additional columns for distillation: the teacher's logits, and 1 for a labeled row, else 0.
DISTILLATION = (
    BatchColumn("teacher_logits", ("B", "L"), "float32"),
    BatchColumn("has_label", ("B",), "float32"),
)


# Additional column if examples have weights in the loss.
EXAMPLE_WEIGHT = BatchColumn("example_weight", ("B",), "float32")


# Additional column if labels are distributions.
LABEL_DISTRIBUTION = BatchColumn("label_distribution", ("B", "L"), "float32")


def with_windows(columns: tuple[BatchColumn, ...]) -> tuple[BatchColumn, ...]:
    """Return the columns for batches in which each row has up to K windows.

    A window without tokens is padding.
    """
    return tuple(column._replace(shape=("B", "K", "S")) if column in ENCODER else column for column in columns)


def with_states(columns: tuple[BatchColumn, ...]) -> tuple[BatchColumn, ...]:
    """Return the columns for batches with a frozen encoder's states instead of token ids.

    One state row replaces each sequence. The mask keeps its first token (S = 1): the number of
    sequences determines how many random numbers dropout draws.
    """
    states = BatchColumn("states", (*columns[0].shape[:-1], "W"), "float32")
    return (
        *(column for column in columns if column.name not in INPUTS or column.name == INPUT_MASK),
        states,
    )


# Positions of the answer's first and last token; 0, which is [CLS], for no answer.
SQUAD = (
    *ENCODER,
    BatchColumn("start_positions", ("B",), "int32"),
    BatchColumn("end_positions", ("B",), "int32"),
)
# label_ids: -1 for a word piece that is not trained. label_weights: a word piece's weight in the
# global batch's loss.
_TAGS = (BatchColumn("label_ids", ("B", "S"), "int32"), BatchColumn("label_weights", ("B", "S"), "float32"))
TAGGING = (*ENCODER, *_TAGS)
# Labeled word pieces alone, with a frozen encoder's states.
TAGGING_STATES = (*_TAGS, BatchColumn("states", ("B", "S", "W"), "float32"))
_MASKS = BatchColumn("masked_lm_positions", ("B", "P"), "int32")
# masked_lm_weights is 0 for padding, see features.pretraining_batch.
PRETRAINING = (
    *ENCODER,
    _MASKS,
    BatchColumn("masked_lm_ids", ("B", "P"), "int32"),
    BatchColumn("masked_lm_weights", ("B", "P"), "float32"),
    BatchColumn("next_sentence_labels", ("B",), "int32"),
)
FILL_MASK = (*ENCODER, _MASKS)


# K texts that are compared: an anchor, its positive, and negatives. Equal texts have equal text_ids.
TEXT_PAIRS = (
    *(column._replace(shape=("B", "K", "S")) for column in ENCODER),
    BatchColumn("text_ids", ("B", "K"), "int32"),
    BatchColumn("scores", ("B",), "float32"),
)


class Feature(NamedTuple):
    """A feature of a tf.train.Example.

    Attributes:
        name: its key.
        dtype: "int64" or "float32".
        length: number of values.
    """

    name: str
    dtype: str
    length: int


def pretraining_features(max_seq_length: int, max_predictions_per_seq: int) -> tuple[Feature, ...]:
    """Return the features that bert-create-pretraining-data writes and bert-pretrain reads.

    Google's code has the same features:

    input_ids             token ids, 0 for padding
    input_mask            1 for a token, 0 for padding
    segment_ids           0 up to the first [SEP], 1 from there to the second
    masked_lm_positions   positions to predict, ascending, 0 for padding
    masked_lm_ids         token ids to predict
    masked_lm_weights     1 for a prediction, 0 for padding
    next_sentence_labels  1 if the second text is a random one, 0 if it follows the first
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
