"""tf.train.Example messages, compared with bytes that were written by hand."""

import numpy as np
import pytest

from bert_cli.records.example_proto import decode_example, encode_examples

# features { entry { key "a", value { int64_list { 1, 300 } } } }: 300 is the varint ac 02.
INTEGERS = bytes.fromhex("0a 0e 0a 0c 0a 01 61 12 07 1a 05 0a 03 01 ac 02")
# The same with float_list { 1.0 }, which is 00 00 80 3f.
FLOATS = bytes.fromhex("0a 0f 0a 0d 0a 01 62 12 08 12 06 0a 04 00 00 80 3f")


def test_messages_by_hand():
    assert encode_examples({"a": np.array([[1, 300]])}) == [INTEGERS]
    assert encode_examples({"b": np.array([[1.0]], np.float32)}) == [FLOATS]


def test_rows_have_separate_lengths():
    first, second = encode_examples({"a": np.array([[1, 300], [1, 2]])})
    assert first == INTEGERS
    assert len(second) == len(first) - 1
    assert decode_example(second)["a"].tolist() == [1, 2]


@pytest.mark.parametrize("number", [0, 127, 128, 2**18, 2**40])
def test_numbers_of_any_size(number):
    (message,) = encode_examples({"a": np.array([[number]]), "b": np.array([[0.5]], np.float32)})
    features = decode_example(message)
    assert features["a"].tolist() == [number]
    assert features["b"].tolist() == [0.5]


@pytest.mark.parametrize("data", [INTEGERS[:-1], INTEGERS[:9], b"\x0b", INTEGERS[:-2] + b"\xac\x82"])
def test_damaged_messages(data):
    with pytest.raises(ValueError, match=r"message ends|unknown wire type"):
        decode_example(data)


def test_an_empty_message_has_no_features():
    assert decode_example(b"") == {}
