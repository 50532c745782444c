"""Pre-training records: names of features, and what is no pre-training data."""

import logging

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.corpus.record_source import RecordSource
from bert_cli.records.example_proto import encode_examples
from bert_cli.records.tfrecord import pack_records

COLUMNS = {
    "input_ids": [[2, 5, 3, 0]] * 3,
    "input_mask": [[1, 1, 1, 0]] * 3,
    "segment_ids": [[0, 0, 0, 0]] * 3,
    "masked_lm_positions": [[1], [1], [1]],
    "masked_lm_ids": [[5], [6], [7]],
    "next_sentence_labels": [[0], [1], [0]],
}


def write(path, **names):
    """Write three records; names: other names of features, None for none."""
    columns = {name: np.array(values) for name, values in COLUMNS.items()}
    columns["masked_lm_weights"] = np.ones((3, 1), np.float32)
    renamed = {names.get(name, name): values for name, values in columns.items()}
    path.write_bytes(pack_records(encode_examples({name: values for name, values in renamed.items() if name})))
    return str(path)


def opened(*paths):
    return RecordSource(paths, max_seq_length=4, max_predictions_per_seq=1, vocab_size=9, seed=0)


def test_names_of_the_model_garden_are_read(tmp_path, caplog):
    garden = write(tmp_path / "garden", input_ids="input_word_ids", segment_ids="input_type_ids")
    google = write(tmp_path / "google")
    with caplog.at_level(logging.INFO, "bert_cli"), opened(garden, google) as source:
        columns = source.read(np.arange(6))
    for name, values in COLUMNS.items():
        assert columns[name].tolist() == values * 2
    (line,) = [record.getMessage() for record in caplog.records]
    renamed = "input_type_ids as segment_ids, input_word_ids as input_ids"
    assert line == f"{garden}: read the TensorFlow Model Garden's {renamed}"


@pytest.mark.parametrize("name", ["input_word_ids", "input_type_ids"])
def test_one_name_of_the_model_garden_is_enough(tmp_path, name):
    own = {"input_word_ids": "input_ids", "input_type_ids": "segment_ids"}[name]
    with opened(write(tmp_path / "data", **{own: name})) as source:
        assert source.read(np.array([2]))["masked_lm_ids"].tolist() == [[7]]


def test_the_usual_names_need_no_line(tmp_path, caplog):
    with caplog.at_level(logging.INFO, "bert_cli"), opened(write(tmp_path / "data")):
        assert not caplog.records


def test_records_of_other_data_are_named_with_what_they_have(tmp_path):
    path = write(tmp_path / "data", masked_lm_ids=None, masked_lm_positions="label_ids")
    with pytest.raises(InputError) as caught:
        opened(path)
    names = "input_ids, input_mask, label_ids, masked_lm_weights, next_sentence_labels, segment_ids"
    assert f"{path}: record 0 has no masked_lm_positions (it has {names})" in str(caught.value)


def test_empty_files_are_files_without_records(tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    empty, first, last = str(tmp_path / "empty"), write(tmp_path / "first"), write(tmp_path / "last")
    with opened(empty, first, empty, last, empty) as source, opened(first, last) as filled:
        assert len(source) == len(filled) == 6
        assert source.digest == filled.digest
        assert source.read(np.array([3]))["masked_lm_ids"].tolist() == [[5]]
    with pytest.raises(InputError, match="no record in there"):
        opened(empty)
