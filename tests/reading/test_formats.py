"""Table formats by suffix."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.reading.formats import find_format, is_tab_separated, is_table, is_text_format, refuse_table
from tests.snapshots import raises


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.tsv", "tsv"),
        ("a.CSV", "csv"),
        ("a.ndjson.gz", "json"),
        ("a.ods", "workbook"),
        ("a.pq", "parquet"),
        ("a.arrow", "feather"),
    ],
)
def test_suffixes(path, expected):
    assert find_format(path) == expected


@pytest.mark.parametrize("path", ["a.doc", "csv.d/a", "a.gz"])
def test_unknown_suffixes_are_refused(path):
    with raises(InputError, f"{path}: "):
        find_format(path)


def test_text_files_are_no_tables():
    assert [is_table(path) for path in ("a.csv", "a.jsonl.gz", "a.txt", "csv", "a.doc")] == [
        True,
        True,
        False,
        False,
        False,
    ]
    assert [is_text_format(path) for path in ("a.csv", "a.doc", "a.xlsx", "a.feather")] == [True, True, False, False]
    assert [is_tab_separated(path) for path in ("a.tsv", "a", "a.csv", "a.txt")] == [True, True, False, False]


def test_a_table_is_no_list_of_texts():
    refuse_table("a.txt")
    with raises(InputError, "--input_file=a.csv: "):
        refuse_table("a.csv")
