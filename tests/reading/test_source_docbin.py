"""spaCy's DocBin: recognized, read with the package, and refused in one line without it."""

import json
import sys
import zlib

import pytest

from bert_cli.base.errors import InputError
from bert_cli.reading.probe import open_table
from bert_cli.reading.source import Source, is_docbin, read_docbin
from tests.snapshots import raises


def test_name_and_first_bytes_decide():
    packed = zlib.compress(b"\x83\xa7version\xa30.1")
    assert is_docbin("a.spacy", packed)
    assert is_docbin("A.SPACY", packed)
    assert not is_docbin("a.spacy", b"x B-PER\n")
    assert not is_docbin("a.txt", packed)


def test_without_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setitem(sys.modules, "spacy.tokens", None)
    path = tmp_path / "train.spacy"
    path.write_bytes(zlib.compress(b"\x83\xa7version\xa30.1"))
    for read in (lambda: Source(str(path)).text, lambda: list(open_table(str(path), "train_file").rows())):
        with raises(InputError, "train.spacy: "):
            read()


def test_documents_become_json_lines(tmp_path):
    spacy = pytest.importorskip("spacy")
    from spacy.tokens import DocBin

    document = spacy.blank("en").make_doc("Anna lives in Rome.")
    document.ents = [document.char_span(0, 4, "PER")]
    document.cats = {"travel": 1.0}
    data = DocBin(docs=[document]).to_bytes()
    (line,) = read_docbin(data, "a.spacy").decode().splitlines()
    record = json.loads(line)
    assert (record["text"], record["cats"]) == ("Anna lives in Rome.", {"travel": 1.0})
    assert record["ents"] == [{"start": 0, "end": 4, "label": "PER"}]
    (tmp_path / "a.spacy").write_bytes(data)
    assert Source(str(tmp_path / "a.spacy")).text == f"{line}\n"
    with pytest.raises(InputError, match="is not a DocBin of spaCy: "):
        read_docbin(data[:40], "a.spacy")
