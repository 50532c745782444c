"""Decoding of bytes: whole files, streams and blocks give the same messages."""

import codecs
import gzip
import io

import pytest

from bert_cli.base import lines, recoding
from bert_cli.base.errors import InputError
from bert_cli.base.lines import decode, decode_lines, read_text
from bert_cli.base.recoding import as_utf8, read_encoding
from tests.snapshots import check_message, raises


def test_byte_order_mark_is_dropped(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    assert read_text(str(path)) == "one\r\ntwo"


def test_decode_keeps_all_characters():
    assert decode(b"\xef\xbb\xbfa\0\r\n", "f") == "\ufeffa\0\r\n"


@pytest.mark.parametrize(
    ("data", "noun", "place"),
    [
        (b"a\nb\xe9\n", "file", "f:2: "),
        ("a\n".encode("utf-16"), "file", "f:1: "),
        (b"a\nb\xe9\n", "text", "f:2: "),
        (gzip.compress(b"a\n", mtime=0), "text", "f: "),
        ("a\n".encode("utf-16"), "text", "f:1: "),
    ],
)
def test_files_and_lines_have_the_same_decoding_errors(data, noun, place):
    for read in (lambda: decode(data, "f", noun=noun), lambda: list(decode_lines(io.BytesIO(data), "f", noun=noun))):
        with pytest.raises(InputError) as caught:
            read()
        check_message(caught, place)


def test_line_numbers_start_at_first_line():
    with raises(InputError, "f:12: "):
        decode(b"a\nb\n\xff\n", "f", first_line=10)
    # A byte-order mark is recognized in line 1 only.
    with raises(InputError, "f:10: "):
        decode(b"\xff\xfe", "f", first_line=10)


def test_nul_is_refused_in_files(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"a\nb\0\n")
    with raises(InputError, "text.txt:2: "):
        read_text(str(path))


def test_reading_an_endless_line_stops_soon_after_the_limit():
    class Endless(io.RawIOBase):
        num_bytes = 0

        def readable(self):
            return True

        def readinto(self, buffer):
            self.num_bytes += len(buffer)
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

    source = Endless()
    with raises(InputError, "f:1: "):
        list(decode_lines(io.BufferedReader(source), "f"))
    assert source.num_bytes < 1.1 * lines.LONGEST_LINE


TEXT = "größer, naïve\r\nzwei\n\nEnde"


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "utf-8", "UTF8"])
@pytest.mark.parametrize("piece", [1, 2, 3, 1 << 16])
def test_as_utf8(encoding, piece, monkeypatch):
    monkeypatch.setattr(recoding, "_PIECE", piece)
    assert as_utf8(io.BytesIO(TEXT.encode(encoding)), encoding, "f").read().decode("utf-8") == TEXT
    recoded = as_utf8(io.BytesIO(TEXT.encode(encoding)), encoding, "f")
    assert [line.decode("utf-8") for line in recoded] == TEXT.splitlines(keepends=True)


def test_utf8_is_not_recoded():
    file = io.BytesIO(b"a")
    assert as_utf8(file, "UTF-8", "f") is file


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"a\nb\x81\n", "cp1252", "f:2: is not cp1252 (byte 0x81); give another --encoding"),
        (b"a\nb\n\xff", "ascii", "f:3: is not ascii (byte 0xff); give another --encoding"),
        *(
            (data, encoding, f"f:1: is not {encoding} (no byte-order mark at the beginning); give another --encoding")
            for data, encoding in (
                (b"a\nb\n", "utf-16"),
                (b"a\nb\n", "utf-32"),
                (b"a", "UTF16"),  # half a character
                (b"\0\xdcab", "U16"),  # half a pair of surrogates
                ("a\n".encode("utf-16-be") * 50_000, "utf_16"),
                (codecs.BOM_UTF16_LE + "a\n".encode("utf-16-le"), "utf-32"),
            )
        ),
        (codecs.BOM_UTF16_BE + b"\0a\0\n\xdc\0", "utf-16", "f:2: is not utf-16 (byte 0xdc); give another --encoding"),
        (codecs.BOM_UTF32_LE + b"abcd", "utf-32", "f:1: is not utf-32 (byte 0x61); give another --encoding"),
        ("a\nb".encode("utf-16-le") + b"c", "utf-16-le", "f:2: is not utf-16-le (byte 0x63); give another --encoding"),
    ],
)
@pytest.mark.parametrize("piece", [1, 3, 1 << 16])
def test_wrong_bytes_for_an_encoding(data, encoding, message, piece, monkeypatch):
    """The message depends neither on the Python version nor on piece size."""
    monkeypatch.setattr(recoding, "_PIECE", piece)
    with pytest.raises(InputError) as caught:
        as_utf8(io.BytesIO(data), encoding, "f").read()
    assert str(caught.value).startswith(message)


def test_encoding_error_does_not_quote_codecs():
    """Before Python 3.13, punycode gives no position."""
    with pytest.raises(InputError, match=r"^f:1: is not punycode( \(byte 0x[0-9a-f]{2}\))?; give another --encoding"):
        as_utf8(io.BytesIO(b"a-9"), "punycode", "f").read()


def test_read_encoding():
    assert [read_encoding(name) for name in ("latin-1", "UTF-16")] == ["latin-1", "UTF-16"]
    for name in ("latin-99", "base64", "rot13", "a\0b"):
        with raises(InputError):
            read_encoding(name)


@pytest.mark.parametrize(
    ("line", "encoding"),
    [(b"caf\xe9", "latin-1"), (b"it\x92s", "cp1252"), (b"caf\xe9 it\x92s", "cp1252"), (b"\x80 5", "cp1252")],
)  # fmt: skip
def test_proposed_encoding_maps_all_bytes_to_letters(line, encoding):
    with raises(InputError, f"--encoding={encoding}"):
        decode(line, "f", noun=lines.TEXT)
