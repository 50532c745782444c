"""Features of a record: name, dtype and length, for whoever writes, reads or feeds them."""

from typing import NamedTuple


class Feature(NamedTuple):
    """One feature: `dtype` is "int64" or "float32", the kinds that a tf.train.Example has; `length` in values."""

    name: str
    dtype: str
    length: int


def pretraining_features(max_seq_length: int, max_predictions_per_seq: int) -> tuple[Feature, ...]:
    """What bert-create-pretraining-data writes and bert-pretrain reads, as in the original.

    input_ids             tokens, 0 behind the end
    input_mask            1 for a token, 0 behind the end
    segment_ids           0 up to the first [SEP], 1 from there to the second
    masked_lm_positions   of the tokens to predict, ascending, 0 behind the last
    masked_lm_ids         the tokens to predict
    masked_lm_weights     1 for a prediction, 0 behind the last
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
