"""Varints: numbers with seven bits per byte."""

import pytest

from bert_cli.base.binary_formats import LONGEST_VARINT, read_varint


@pytest.mark.parametrize(
    ("data", "number"), [(b"\x00", 0), (b"\x7f", 127), (b"\x80\x01", 128), (b"\xff" * 9 + b"\x01", 2**64 - 1)]
)
def test_read_varint(data, number):
    assert read_varint(b"." + data + b".", 1) == (number, 1 + len(data))


@pytest.mark.parametrize("data", [b"", b"\x80", b"\x80" * LONGEST_VARINT + b"\x01"])
def test_read_varint_refuses_an_endless_number(data):
    with pytest.raises(ValueError, match="this is cut"):
        read_varint(data, 0, "this is cut")
