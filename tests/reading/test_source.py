"""Inputs that are opened once: every reader accepts any encoding, line ends and gzip."""

import gzip
import io

import pytest

from bert_cli.base import lines
from bert_cli.base.errors import InputError
from bert_cli.base.lines import decode_lines
from bert_cli.corpus import text
from bert_cli.examples import tables
from bert_cli.examples.text_lines import read_text_lines
from bert_cli.examples.token_files.reading import read_token_file
from bert_cli.reading.probe import open_table
from bert_cli.reading.source import Source
from bert_cli.settings.data import TextForm
from bert_cli.settings.texts import CorpusForm
from bert_cli.text.vocabulary import read_vocabulary
from tests.snapshots import check_message, raises


def test_byte_order_mark_is_dropped(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo")
    assert list(Source(str(path)).lines()) == ["one\r\n", "two"]


def test_every_reading_starts_again(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"one\ntwo\n")
    source = Source(str(path))
    assert next(source.lines()) == "one\n"
    assert list(source.lines(skip=1)) == ["two\n"]
    assert (source.text, source.head, source.binary().read()) == ("one\ntwo\n", b"one\ntwo\n", b"one\ntwo\n")


@pytest.mark.parametrize(("data", "count"), [(b"", 0), (b"\n", 1), (b"a\nb", 2), (b"a\r\rb\r", 3)])
def test_lines_are_counted(tmp_path, data, count):
    for name, content in (("text.txt", data), ("text.txt.gz", gzip.compress(data))):
        (tmp_path / name).write_bytes(content)
        assert Source(str(tmp_path / name)).count_lines() == count


def test_standard_input_is_read_once(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"a\nb"))))
    source = Source("-")
    assert list(source.lines()) == ["a\n", "b"]
    with raises(InputError, "standard input: "):
        list(source.lines())


def test_missing_files_and_folders(tmp_path):
    with raises(InputError, "none.txt: ", "--input_file"):
        Source(str(tmp_path / "none.txt"), flag="input_file")
    with raises(InputError, f"{tmp_path}: "):
        Source(str(tmp_path))
    assert Source(str(tmp_path), may_be_folder=True).is_folder


def test_damaged_gzip_is_reported(tmp_path):
    path = tmp_path / "text.gz"
    whole = gzip.compress(b"".join(f"{number}\n".encode() for number in range(999)))
    wrong_checksum = whole[:-8] + bytes(4) + whole[-4:]
    wrong_data = whole[:40] + b"\xff" * 20 + whole[60:]
    for data in (b"plain", whole[:-9], wrong_checksum, wrong_data, whole + b"more"):
        path.write_bytes(data)
        for read in (lambda: list(Source(str(path)).lines()), lambda: Source(str(path)).text):
            with raises(InputError, "text.gz: "):
                read()


def readers(tmp_path):
    """Return a path, and all readers by name, as functions that take the file's bytes."""
    path = tmp_path / "text.txt"

    def of_file(read):
        def call(data):
            path.write_bytes(data)
            return read(str(path))

        return call

    vocabulary = b"[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
    return str(path), {
        "decode_lines": lambda data: list(decode_lines(io.BytesIO(data), str(path))),
        "lines": of_file(lambda name: list(Source(name).lines())),
        "texts": of_file(lambda name: list(read_text_lines(Source(name)))),
        "own rows": of_file(lambda name: list(open_table(name, "train_file").rows())),
        "tables": of_file(lambda name: tables.read_rows(Source(name))),
        "tagging": of_file(lambda name: read_token_file(Source(name))),
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


def test_every_reader_of_texts_accepts_an_encoding(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("größer\tO\n".encode("utf-16"))
    form = TextForm("utf-16")
    corpus_form = CorpusForm(table=form)
    assert [row.cells for row in open_table(str(path), "train_file", form).rows()] == [("größer", "O")]
    assert [row.cells for row in tables.read_rows(Source(str(path), form.encoding))] == [("größer", "O")]
    assert read_token_file(Source(str(path), "utf-16")).examples[0].words == ("größer",)
    assert b"".join(block.data for block in text.read_blocks([str(path)], form=corpus_form)) == "größer\tO\n".encode()
    assert Source(str(path), "utf-16").text == "größer\tO\n"
    assert list(Source(str(path), "utf-16").lines()) == ["größer\tO\n"]
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert len(list(open_table(f"{path}.gz", "train_file", form).rows())) == 1
    assert b"".join(block.data for block in text.read_blocks([f"{path}.gz"], 4, corpus_form)).endswith(b"O\n")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_every_reader_splits_lines_at_carriage_returns(tmp_path, caplog, encoding):
    caplog.set_level("INFO")
    path = tmp_path / "mac.txt"
    path.write_bytes("größer\tO\rzwei\tO\r".encode(encoding))
    form = TextForm(encoding)
    expected = [("größer", "O"), ("zwei", "O")]
    assert [row.cells for row in open_table(str(path), "train_file", form).filled_rows()] == expected
    assert [row.cells for row in tables.read_rows(Source(str(path), form.encoding))] == expected
    source = Source(str(path), encoding)
    assert list(source.lines()) == ["größer\tO\n", "zwei\tO\n"]
    assert source.text == "größer\tO\nzwei\tO\n"
    blocks = list(text.read_blocks([str(path)], form=CorpusForm(table=form)))
    assert "".join(map(text.decode_block, blocks)) == "größer\tO\nzwei\tO\n"
    # Two readings log one line.
    assert len(caplog.messages) == 4
    check_message(sorted(set(caplog.messages)))


@pytest.mark.parametrize("content", [b"one\r", b"a\rb\n", b"a\r\nb\r\n", b'"' + b"x" * 9000 + b'\ry"\n' + b"z\n"])
def test_carriage_returns_within_lines_stay(tmp_path, content):
    (tmp_path / "a.txt").write_bytes(content)
    assert "".join(Source(str(tmp_path / "a.txt")).lines()).encode() == content


def test_control_characters_cause_a_warning(tmp_path, caplog):
    path = tmp_path / "a.tsv"
    path.write_bytes(b"fine\tO\nit\x92s\tO\nit\x93s\tO\n")
    warning = (
        f"{path}:2: warning: holds the control character U+0092, as text in cp1252 does that is read as latin-1; "
        "if it is such text, give --encoding=cp1252"
    )
    form = TextForm("latin-1")
    list(open_table(str(path), "train_file", form).rows())
    tables.read_rows(Source(str(path), form.encoding))
    source = Source(str(path), "latin-1")
    assert len(source.text.split("\n")) == len(list(source.lines())) + 1
    list(read_text_lines(Source(str(path), "latin-1")))
    list(text.read_blocks([str(path)], form=CorpusForm(table=form)))
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
        with raises(InputError, f"a.txt:{line}: "):
            assert Source(str(path)).text
        for texts in (Source(str(path)).lines(), text.read_blocks([str(path)])):
            with raises(InputError, f"a.txt:{line}: "):
                list(texts)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_the_proposed_utf16_has_the_right_byte_order(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes("text,label\nfine,1\n".encode(encoding))
    with raises(InputError, f"--encoding={encoding}"):
        list(open_table(str(path), "train_file").rows())
    with raises(InputError, f"--encoding={encoding}"):
        assert Source(str(path)).text
