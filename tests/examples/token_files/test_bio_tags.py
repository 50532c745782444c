"""Conversion of all notations to BIO tags."""

import logging

import pytest

from bert_cli.examples.token_files.bio_tags import check_known_tags, convert_to_bio
from bert_cli.examples.token_files.columns import read_column_file
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.notation import NotationFlags, TagNotation
from bert_cli.examples.token_files.reading import read_token_file
from bert_cli.reading.source import Source
from tests.examples.token_files.files import CONLL, write
from tests.input_errors import error_of
from tests.snapshots import check_message


def test_tags_become_bio(tmp_path):
    file, notation = convert_to_bio(read_column_file(Source(write(tmp_path, CONLL))))
    assert notation == TagNotation("IOB1")
    assert [example.tags for example in file.examples] == [("B-ORG", "O"), ("B-PER",)]
    file, notation = convert_to_bio(read_column_file(Source(write(tmp_path, "a x\nb x\n"))))
    assert (notation.scheme, file.examples[0].tags) == ("IO", ("B-x", "I-x"))


def test_scheme_flag_is_checked(tmp_path):
    path = write(tmp_path, "a O\n\nb S-x\n")
    expected = f"{path}:3: tag 'S-x' has none of the prefixes of BIO (B-, I-) and is not O; correct it"
    assert error_of(convert_to_bio, read_column_file(Source(path)), NotationFlags("BIO")) == expected


def test_first_invalid_tag_is_reported_with_its_line(tmp_path):
    path = write(tmp_path, "a B-x\nb X-x\n\nc X-x\nd Y-x\n")
    check_message(error_of(convert_to_bio, read_column_file(Source(path))), f"{path}:2: ")
    path = write(tmp_path, '{"words": ["a", "b"], "tags": ["B-x", "x"]}', "a.jsonl")
    assert error_of(convert_to_bio, read_token_file(Source(path))).startswith(f"{path}:1: tag 'x' has none")


def test_a_line_end_in_a_tag_is_refused(tmp_path):
    path = tmp_path / "train.jsonl"
    path.write_text('{"words": ["a", "b"], "tags": ["O", "O"]}\n{"words": ["a"], "tags": ["B-x\\ny"]}\n')
    file = read_token_file(Source(str(path)), TokenFlags())
    check_message(error_of(convert_to_bio, file), f"{path}:2: ")


def test_labels_that_are_not_in_the_training_data(tmp_path):
    path = write(tmp_path, "a B-x\n\nb O\nc B-y\n")
    file, _ = convert_to_bio(read_column_file(Source(path)))
    check_known_tags(file, ("O", "B-x", "I-x", "B-y", "I-y"))
    check_message(error_of(check_known_tags, file, ("O", "B-x", "I-x")), f"{path}:4: ")


@pytest.mark.parametrize(
    ("name", "count", "words"),
    [
        ("wnut17train.conll", 3394, 62730),
        ("emerging.dev.conll", 1009, 15733),
        ("emerging.test.annotated", 1287, 23394),
    ],
)
def test_wnut17(shared, name, count, words):
    file, notation = convert_to_bio(read_token_file(Source(str(shared / "data" / "wnut17" / name))))
    assert (len(file.examples), notation.scheme) == (count, "BIO")
    assert sum(len(example.words) for example in file.examples) == words


def test_unusual_outside_tag_and_form_are_logged(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    path = write(tmp_path, "Anna PER_B\nLee PER_I\nleft 0\n. 0\n")
    file, notation = convert_to_bio(read_column_file(Source(path)))
    assert file.examples[0].tags == ("B-PER", "I-PER", "O", "O")
    assert notation == TagNotation("BIO", "0", "PER_B")
    check_message(caplog)


def test_flag_values_are_not_logged(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    path = write(tmp_path, "Anna PER_B\nleft 0\n")
    convert_to_bio(read_column_file(Source(path)), NotationFlags("BIO", "0", "PER_B"))
    assert not caplog.messages


def test_tag_in_another_form_than_in_training_is_reported(tmp_path):
    path = write(tmp_path, "Anna B-PER\nleft O\n")
    check_message(
        error_of(convert_to_bio, read_column_file(Source(path)), NotationFlags("BMES", "O", "PER_B")), f"{path}:1: "
    )
