"""Pre-training records: feature names, and refusal of other data."""

import logging

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.corpus.record_source import RecordSource
from bert_cli.records.example_proto import encode_examples
from bert_cli.records.tfrecord import pack_records
from tests.snapshots import check_message

COLUMNS = {
    "input_ids": [[2, 5, 3, 0]] * 3,
    "input_mask": [[1, 1, 1, 0]] * 3,
    "segment_ids": [[0, 0, 0, 0]] * 3,
    "masked_lm_positions": [[1], [1], [1]],
    "masked_lm_ids": [[5], [6], [7]],
    "next_sentence_labels": [[0], [1], [0]],
}


def write(path, **names):
    """Write three records, and return the path.

    Args:
        **names: a feature's new name, or None to omit the feature.
    """
    columns = {name: np.array(values) for name, values in COLUMNS.items()}
    columns["masked_lm_weights"] = np.ones((3, 1), np.float32)
    renamed = {names.get(name, name): values for name, values in columns.items()}
    path.write_bytes(pack_records(encode_examples({name: values for name, values in renamed.items() if name})))
    return str(path)


def open_source(*paths):
    return RecordSource(paths, max_seq_length=4, max_predictions_per_seq=1, vocab_size=9, seed=0)


def test_model_garden_names_are_read_and_logged(tmp_path, caplog):
    garden = write(tmp_path / "garden", input_ids="input_word_ids", segment_ids="input_type_ids")
    google = write(tmp_path / "google")
    with caplog.at_level(logging.INFO, "bert_cli"), open_source(garden, google) as source:
        columns = source.read(np.arange(6))
    for name, values in COLUMNS.items():
        assert columns[name].tolist() == values * 2
    (line,) = [record.getMessage() for record in caplog.records]
    check_message(line, f"{garden}: ")


@pytest.mark.parametrize("name", ["input_word_ids", "input_type_ids"])
def test_one_model_garden_name_is_enough(tmp_path, name):
    usual_name = {"input_word_ids": "input_ids", "input_type_ids": "segment_ids"}[name]
    with open_source(write(tmp_path / "data", **{usual_name: name})) as source:
        assert source.read(np.array([2]))["masked_lm_ids"].tolist() == [[7]]


def test_usual_names_are_not_logged(tmp_path, caplog):
    with caplog.at_level(logging.INFO, "bert_cli"), open_source(write(tmp_path / "data")):
        assert not caplog.records


def test_other_records_are_refused_with_their_feature_names(tmp_path):
    path = write(tmp_path / "data", masked_lm_ids=None, masked_lm_positions="label_ids")
    with pytest.raises(InputError) as caught:
        open_source(path)
    check_message(caught, f"{path}: ")


def test_empty_files_are_ignored(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    empty, first, last = str(tmp_path / "empty"), write(tmp_path / "first"), write(tmp_path / "last")
    with open_source(empty, first, empty, last, empty) as source, open_source(first, last) as filled:
        assert len(source) == len(filled) == 6
        assert source.digest == filled.digest
        assert source.read(np.array([3]))["masked_lm_ids"].tolist() == [[5]]
    with pytest.raises(InputError, match="no record in there"):
        open_source(empty)
