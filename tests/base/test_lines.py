"""Bytes to text in one place: the same messages for whole files, streams and blocks of a file."""

import io

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.lines import decode, decode_lines, open_lines, read_text


def test_a_mark_is_dropped_from_files_and_streams_alike(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    assert read_text(str(path)) == "one\r\ntwo"
    with open_lines(str(path)) as lines:
        assert list(lines) == ["one\r\n", "two"]


def test_decode_drops_nothing():
    assert decode(b"\xef\xbb\xbfa\0\r\n", "f") == "\ufeffa\0\r\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\nb\xe9\n", "f:2: is not UTF-8 (byte 0xe9); save the file as UTF-8"),
        ("a\n".encode("utf-16"), "f:1: is UTF-16, UTF-8 is needed; save it as UTF-8"),
    ],
)
def test_whole_texts_and_single_lines_are_refused_with_one_message(data, message):
    for read in (lambda: decode(data, "f"), lambda: list(decode_lines(io.BytesIO(data), "f"))):
        with pytest.raises(InputError) as caught:
            read()
        assert str(caught.value) == message


def test_lines_count_from_where_a_block_begins():
    with pytest.raises(InputError, match=r"^f:12: is not UTF-8 \(byte 0xff\)"):
        decode(b"a\nb\n\xff\n", "f", first_line=10)
    with pytest.raises(InputError, match=r"^f:10: is not UTF-8 \(byte 0xff\)"):  # a mark stands only in line 1
        decode(b"\xff\xfe", "f", first_line=10)


def test_nul_is_refused_in_files(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"a\nb\0\n")
    with pytest.raises(InputError, match=r"text\.txt:2: holds a NUL character"):
        read_text(str(path))
