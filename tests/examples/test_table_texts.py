"""Texts and ids from a table in --input_file."""

import openpyxl
import pytest

from bert_cli.examples.table_texts import read_table_texts
from bert_cli.examples.text_lines import TextLine
from bert_cli.settings.data import Columns, TextForm


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id,text,label\nr1,good,x\nr2,,y\n"),
        ("a.tsv", "text\tid\ngood\tr1\n\tr2\n"),
        ("a.jsonl", '{"text": "good"}\n{"id": "r2", "text": ""}\n'),
    ],
)
def test_texts_with_ids(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    first, second = read_table_texts(str(tmp_path / name), Columns(), "auto", TextForm())
    assert (first.number, first.text_a, second.number, second.text_a) == (0, "good", 1, "")
    assert second.identifier == "r2"


def test_pairs_in_a_workbook_without_ids(tmp_path):
    book = openpyxl.Workbook()
    for row in (["premise", "hypothesis"], ["a dog", "an animal"]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    texts = read_table_texts(str(tmp_path / "a.xlsx"), Columns(), "auto", TextForm())
    assert texts == [TextLine(0, "a dog", "an animal")]
