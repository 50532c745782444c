"""Documents for pre-training from tables, JSON records and WikiExtractor's output."""

import gzip
import io
import json
import sys

import pytest

from bert_cli.base.errors import InputError
from bert_cli.corpus.text import decode_block, read_blocks
from bert_cli.settings.texts import PLAIN_TEXT
from tests.rows import write_rows
from tests.snapshots import check_message, raises

RECORDS = [
    {"url": "u1", "text": "The mill stands.\n\nIt turns."},
    {"url": "u2", "text": "  "},
    {"url": "u3", "text": "She sees it, and {smiles}."},
]
DOCUMENTS = "The mill stands.\nIt turns.\n\nShe sees it, and {smiles}.\n\n"
JSON_LINES = "".join(f"{json.dumps(record)}\n" for record in RECORDS)
EXTRACTS = """<doc id="1" url="https://a.example/?curid=1" title="Mill">
Mill

A mill &lt;old&gt; &amp;lt; grinds.

</doc>

<doc id="2" url="https://a.example/?curid=2" title="River">
River, a, b
</doc>
"""


def read(folder, data: str | bytes, name: str, block_size=1 << 19, **flags) -> str:
    path = write_rows(folder / name, data)
    blocks = list(read_blocks([str(path)], block_size, PLAIN_TEXT._replace(**flags)))
    assert [block.is_end_of_file for block in blocks] == [False] * (len(blocks) - 1) + [True]
    assert blocks[-1].position == path.stat().st_size
    return "".join(map(decode_block, blocks))


@pytest.fixture
def log(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    caplog.set_level("INFO")
    return caplog


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.jsonl", JSON_LINES),
        ("part-00000", JSON_LINES),
        ("a.json", json.dumps(RECORDS)),
        ("a.txt", json.dumps(RECORDS, indent=2)),
        ("a.ndjson.gz", gzip.compress(JSON_LINES.encode(), mtime=0)),
        ("a.csv", 'url,text\nu1,"The mill stands.\n\nIt turns."\nu2,\nu3,"She sees it, and {smiles}."\n'),
    ],
)
@pytest.mark.parametrize("block_size", [1, 1 << 19])
def test_each_row_is_a_document(tmp_path, log, name, data, block_size):
    assert read(tmp_path, data, name, block_size) == DOCUMENTS
    facts = [message for message in log.messages if "2 rows: text from 'text'; not used: url" in message]
    assert len(facts) == 1
    if block_size == 1:
        check_message([message.replace(f"{tmp_path}/", "") for message in log.messages])


def test_members_beside_the_documents_are_named(tmp_path, log):
    data = json.dumps({"version": 1, "data": RECORDS})
    assert read(tmp_path, data, "a.json") == DOCUMENTS
    assert any("text from 'text'; not used: url, version" in message for message in log.messages)


def test_workbooks_and_columns_are_tables(tmp_path, log):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(RECORDS)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    for name in ("a.parquet", "a.xlsx"):
        blocks = read_blocks([str(tmp_path / name)])
        assert "".join(map(decode_block, blocks)) == DOCUMENTS


@pytest.mark.parametrize("block_size", [1, 30, 1 << 19])
@pytest.mark.parametrize("name", ["wiki_00", "wiki.txt"])
def test_extracts_are_documents_without_markup(tmp_path, log, name, block_size):
    text = read(tmp_path, EXTRACTS, name, block_size)
    assert text == "Mill\nA mill <old> &lt; grinds.\n\nRiver, a, b\n\n"
    assert len(log.messages) == 1
    assert "2 documents: extracts of WikiExtractor" in log.messages[0]


@pytest.mark.parametrize(
    "data",
    [
        "One, two.\nThree, four.\n",
        '{"a": 1}\nis JSON, they say.\nIndeed.\n',
        "{ begins here\nnot here\n",
        "[CLS] first\n[SEP] second\n",
        '"Yes," she said.\n"No," he said.\n',
        "<doc>\nno attributes\n</doc>\n",
        'An <doc id="1"> inside.\n',
        "text\nis a word\n",
        "",
        "\n\n",
    ],
)
@pytest.mark.parametrize("block_size", [1, 1 << 19])
def test_plain_text_stays_as_it_is(tmp_path, log, data, block_size):
    assert read(tmp_path, data, "a.txt", block_size) == data
    assert read(tmp_path, data, "text", block_size) == data
    assert log.messages == []


def test_a_text_with_a_header_causes_a_warning(tmp_path, log):
    data = "id,text\n1,a mill\n2,a river\n"
    assert read(tmp_path, data, "a.txt") == data
    assert len(log.messages) == 1
    check_message(log.messages[0].replace(f"{tmp_path}/", ""))


def test_text_column_names_a_column_or_a_member(tmp_path, log):
    data = '{"data": {"body": "one\\ntwo"}, "text": "x"}\n{"data": {"body": "three"}, "text": "y"}\n'
    assert read(tmp_path, data, "a.jsonl", text_column="data.body") == "one\ntwo\n\nthree\n\n"
    assert read(tmp_path, "1\tone\n2\ttwo\n", "a.tsv", text_column="1", header="no") == "one\n\ntwo\n\n"
    assert log.messages[-1].endswith("2 rows without a header: text from column 1; not used: column 0")


@pytest.mark.parametrize(
    ("data", "name", "flags", "location"),
    [
        ("one\n", "a.txt", {"text_column": "body"}, "--text_column=body: "),
        (EXTRACTS, "wiki_00", {"text_column": "text"}, "--text_column=text: "),
        (f"{JSON_LINES}{{'text': 1\n", "a.txt", {}, "a.txt:4: "),
        (f"{JSON_LINES}[1]\n", "a.jsonl", {}, "a.jsonl:4: "),
        ('{"text": "a"}\n{"text": {"de": "b"}}\n', "a.jsonl", {}, "a.jsonl:2: "),
        ('{"text": "a"}\n{"text": "\\ud800"}\n', "a.jsonl", {}, "a.jsonl:2: "),
        ('{"title": "a", "abstract": "b"}\n{"title": "c", "abstract": "d"}\n', "a.jsonl", {}, "a.jsonl:1: "),
        ("sentence1,sentence2\na,b\n", "a.csv", {}, "a.csv: "),
        ("id,text\n1,a\n2\n", "a.csv", {}, "a.csv:3: "),
        (EXTRACTS.replace("</doc>\n\n<", "\n<"), "wiki_00", {}, "wiki_00:1: "),
        (EXTRACTS + "outside\n", "wiki_00", {}, "wiki_00:11: "),
        (EXTRACTS.replace('<doc id="2"', '</doc>\n<doc id="2"'), "wiki_00", {}, "wiki_00:8: "),
        (EXTRACTS.removesuffix("</doc>\n"), "wiki_00", {}, "wiki_00:8: "),
    ],
)
def test_malformed_files_are_refused(tmp_path, log, data, name, flags, location):
    with raises(InputError, location):
        write_rows(tmp_path / name, data)
        list(read_blocks([name], form=PLAIN_TEXT._replace(**flags)))


def test_json_through_a_pipe_is_refused(monkeypatch):
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

    for data, expected in ((b"one\n", b"one\n"), (EXTRACTS.encode(), None)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Pipe(data))))
        read_data = b"".join(block.data for block in read_blocks(["-"]))
        assert read_data == expected or read_data.startswith(b"Mill\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Pipe(JSON_LINES.encode()))))
    with raises(InputError, "standard input: "):
        list(read_blocks(["-"]))
