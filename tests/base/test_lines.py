"""Decoding of bytes: whole files, streams and blocks give the same messages."""

import codecs
import contextlib
import gzip
import io
import os

import pytest

from bert_cli.base import lines, recoding
from bert_cli.base.errors import InputError
from bert_cli.base.lines import ArrivingLines, bounded_lines, decode, decode_lines, open_lines, read_text
from bert_cli.base.recoding import as_utf8, read_encoding
from bert_cli.corpus import text
from bert_cli.examples import tables
from bert_cli.examples.text_lines import read_text_lines
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.reading import read_token_file
from bert_cli.reading.probe import open_table
from bert_cli.settings.data import TextForm
from bert_cli.text.vocabulary import read_vocabulary
from tests.snapshots import check_message, raises


def test_byte_order_mark_is_dropped_from_files_and_streams(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    assert read_text(str(path)) == "one\r\ntwo"
    with open_lines(str(path)) as lines:
        assert list(lines) == ["one\r\n", "two"]


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


def readers(tmp_path):
    """Return a path, and all readers by name, as functions that take the file's bytes."""
    path = tmp_path / "text.tsv"

    def of_file(read):
        def call(data):
            path.write_bytes(data)
            return read(str(path))

        return call

    def opened(name):
        with open_lines(name) as lines:
            return list(lines)

    vocabulary = b"[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
    return str(path), {
        "decode_lines": lambda data: list(decode_lines(io.BytesIO(data), str(path))),
        "open_lines": of_file(opened),
        "texts": lambda data: list(read_text_lines(io.BytesIO(data), str(path))),
        "own rows": of_file(lambda name: list(open_table(name, "train_file").rows())),
        "tables": of_file(tables.read_rows),
        "tagging": of_file(read_token_file),
        "corpus": of_file(lambda name: list(text.read_blocks([name]))),
        "vocabulary": lambda data: of_file(read_vocabulary)(data.replace(b"one\n", vocabulary, 1)),
    }


def test_every_reader_reports_the_number_of_a_line_above_10_mb(tmp_path, monkeypatch):
    """The limit is lowered to save time; a line of exactly that length is read."""
    for module in (lines, text):
        monkeypatch.setattr(module, "LONGEST_LINE", 1_000_000)
    name, reading = readers(tmp_path)
    for reader_name, read in reading.items():
        whole = b"a\tO\n" if reader_name == "tagging" else b"a\tb\n"
        assert read(b"one\n" * (reader_name == "vocabulary") + whole + b"x" * 999_990 + b"\ty\n")
        number = 6 if reader_name == "vocabulary" else 2
        with pytest.raises(InputError) as caught:
            read(b"one\n" * (reader_name == "vocabulary") + whole + b"x" * 1_600_000 + b"\tO\n" + whole)
        assert str(caught.value).startswith(f"{name}:{number}: is a line of more than 10 MB; "), reader_name


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


def test_every_reader_of_texts_accepts_an_encoding(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes("größer\tO\n".encode("utf-16"))
    form = TextForm("utf-16")
    assert [row.cells for row in open_table(str(path), "train_file", form).rows()] == [("größer", "O")]
    assert [row.cells for row in tables.read_rows(str(path), form)] == [("größer", "O")]
    assert read_token_file(str(path), TokenFlags(encoding="utf-16")).examples[0].words == ("größer",)
    assert b"".join(block.data for block in text.read_blocks([str(path)], encoding="utf-16")) == "größer\tO\n".encode()
    assert read_text(str(path), "utf-16") == "größer\tO\n"
    with open_lines(str(path), "utf-16") as opened:
        assert list(opened) == ["größer\tO\n"]
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert len(list(open_table(f"{path}.gz", "train_file", form).rows())) == 1
    assert b"".join(block.data for block in text.read_blocks([f"{path}.gz"], 4, "utf-16")).endswith(b"O\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_every_reader_splits_lines_at_carriage_returns(tmp_path, caplog, encoding):
    caplog.set_level("INFO")
    path = tmp_path / "mac.tsv"
    path.write_bytes("größer\tO\rzwei\tO\r".encode(encoding))
    form = TextForm(encoding)
    expected = [("größer", "O"), ("zwei", "O")]
    assert [row.cells for row in open_table(str(path), "train_file", form).filled_rows()] == expected
    assert [row.cells for row in tables.read_rows(str(path), form)] == expected
    with open_lines(str(path), encoding) as lines:
        assert list(lines) == ["größer\tO\n", "zwei\tO\n"]
    assert read_text(str(path), encoding) == "größer\tO\nzwei\tO\n"
    blocks = list(text.read_blocks([str(path)], encoding=encoding))
    assert "".join(map(text.decode_block, blocks)) == "größer\tO\nzwei\tO\n"
    # Five readers of one file are one line in the log.
    check_message(caplog)


@pytest.mark.parametrize("content", [b"one\r", b"a\rb\n", b"a\r\nb\r\n", b'"' + b"x" * 9000 + b'\ry"\n' + b"z\n"])
def test_carriage_returns_within_lines_stay(tmp_path, content):
    (tmp_path / "a.txt").write_bytes(content)
    with open_lines(str(tmp_path / "a.txt")) as lines:
        assert "".join(lines).encode() == content


@pytest.mark.parametrize(
    ("line", "encoding"),
    [(b"caf\xe9", "latin-1"), (b"it\x92s", "cp1252"), (b"caf\xe9 it\x92s", "cp1252"), (b"\x80 5", "cp1252")],
)  # fmt: skip
def test_proposed_encoding_maps_all_bytes_to_letters(line, encoding):
    with raises(InputError, f"--encoding={encoding}"):
        decode(line, "f", noun=lines.TEXT)


def test_control_characters_cause_a_warning(tmp_path, caplog):
    path = tmp_path / "a.tsv"
    path.write_bytes(b"fine\tO\nit\x92s\tO\nit\x93s\tO\n")
    warning = (
        f"{path}:2: warning: holds the control character U+0092, as text in cp1252 does that is read as latin-1; "
        "if it is such text, give --encoding=cp1252"
    )
    form = TextForm("latin-1")
    list(open_table(str(path), "train_file", form).rows())
    tables.read_rows(str(path), form)
    read_text(str(path), "latin-1")
    recoded = as_utf8(io.BytesIO(path.read_bytes()), "latin-1", str(path))
    list(read_text_lines(recoded, str(path), encoding="latin-1"))
    list(text.read_blocks([str(path)], encoding="latin-1"))
    assert caplog.messages == [warning] * 5
    caplog.clear()
    list(open_table(str(path), "train_file", TextForm("cp1252")).rows())
    assert caplog.messages == []


def test_damaged_utf8_gets_no_encoding(tmp_path):
    """Any other encoding would change the file's other letters."""
    path = tmp_path / "a.txt"
    for data in ("café\nnaïve\n".encode() + b"it\x92s\n", "été à l’hôtel ".encode() + b"\xe9\n"):
        path.write_bytes(data)
        line = data.count(b"\n")
        for read in (lambda: read_text(str(path), "utf-8"), lambda: list(text.read_blocks([str(path)]))):
            with raises(InputError, f"a.txt:{line}: "):
                read()
        with (
            open_lines(str(path), "utf-8") as opened,
            pytest.raises(InputError, match=rf"a\.txt:{line}: .*correct this"),
        ):
            list(opened)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_the_proposed_utf16_has_the_right_byte_order(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\nfine,1\n".encode(encoding))
    with raises(InputError, f"--encoding={encoding}"):
        list(open_table(str(path), "train_file").rows())
    with raises(InputError, f"--encoding={encoding}"):
        read_text(str(path), "utf-8")


@pytest.fixture
def pipe():
    """Return (lines of a pipe, function that writes bytes to it or closes it)."""
    reading, writing = os.pipe()

    def write(data: bytes) -> None:
        if data:
            os.write(writing, data)
        else:
            os.close(writing)

    yield ArrivingLines(reading), write
    os.close(reading)
    with contextlib.suppress(OSError):
        os.close(writing)


def test_a_line_has_arrived_if_it_can_be_read_without_waiting(pipe):
    lines, write = pipe
    iterator = iter(lines)
    assert not lines.has_line(0)
    write(b"first\nsecond\n\nhal")
    assert lines.has_line(0)
    assert [next(iterator) for _ in range(2)] == [b"first\n", b"second\n"]
    assert (lines.has_line(0), lines.has_line(0, skips_blank=True)) == (True, False)
    assert next(iterator) == b"\n"
    assert not lines.has_line(0.01)
    write(b"f\r\nlast")
    assert next(iterator) == b"half\r\n"
    assert not lines.has_line(0)
    write(b"")
    assert lines.has_line(0)
    assert list(iterator) == [b"last"]
    assert lines.has_line(0, skips_blank=True)


def test_recoded_lines_of_a_pipe(pipe):
    lines, write = pipe
    lines.recode("latin-1", "standard input")
    iterator = iter(lines)
    text = "\u00e9" * 40_000
    write(text.encode("latin-1") + b"\nb\n")
    assert lines.has_line(0)
    assert (next(iterator), next(iterator)) == (f"{text}\n".encode(), b"b\n")
    assert not lines.has_line(0)


def test_an_endless_line_of_a_pipe_is_refused_before_its_end(pipe, monkeypatch):
    monkeypatch.setattr("bert_cli.base.lines.LONGEST_LINE", 10)
    lines, write = pipe
    write(b"short\n" + b"x" * 100)
    bounded = bounded_lines(lines, "standard input")
    assert next(bounded) == b"short\n"
    with raises(InputError, "standard input:2: "):
        next(bounded)
