"""Recoding text files: other encodings, and carriage returns as line ends."""

import io

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.recoding import as_utf8, has_only_carriage_returns, read_encoding, with_line_feeds
from tests.snapshots import raises


def recode(data: bytes, encoding: str) -> bytes:
    return as_utf8(io.BytesIO(data), encoding, "a.txt").read()


def test_unknown_encodings_are_refused():
    assert read_encoding("latin-1") == "latin-1"
    for name in ("no-such", "base64"):
        with raises(InputError, f"--encoding={name}: "):
            read_encoding(name)


def test_bytes_become_utf8():
    assert recode(b"caf\xe9\n", "latin-1") == "café\n".encode()
    assert recode("é€\n".encode("utf-16"), "utf-16") == "é€\n".encode()


def test_a_utf8_file_is_returned_itself():
    file = io.BytesIO(b"a")
    assert as_utf8(file, "UTF8", "a.txt") is file


@pytest.mark.parametrize(
    ("data", "encoding", "place"),
    [
        (b"ab\ncd\xff", "ascii", "a.txt:2: "),
        ("Iraq’s ê café Í".encode(), "cp1252", "a.txt:1: "),
        (b"a\x00b\x00", "utf-16", "a.txt:1: "),
    ],
)
def test_wrong_bytes_are_reported_with_their_line(data, encoding, place):
    with raises(InputError, place):
        recode(data, encoding)


@pytest.mark.parametrize(("data", "expected"), [(b"a\rb\r", b"a\nb\n"), (b"a\r\nb\r\n", b"a\r\nb\r\n")])
def test_carriage_returns_become_line_feeds(data, expected):
    reports = []
    assert with_line_feeds(io.BufferedReader(io.BytesIO(data)), lambda: reports.append(1)).read() == expected
    assert len(reports) == (data != expected)


@pytest.mark.parametrize(("head", "expected"), [(b"a\rb", True), (b"a\r", False), (b"a\r\nb\rc", False), (b"a", False)])
def test_a_single_line_has_no_line_ends(head, expected):
    assert has_only_carriage_returns(head) is expected
