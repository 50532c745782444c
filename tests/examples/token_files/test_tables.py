"""Tables with a word or a sentence per row."""

import json
import logging

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bert_cli.examples.tagging import COLUMNS, TABLE, WORDS
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.reading import has_tokens, read_token_file
from bert_cli.reading.source import Source
from tests.examples.token_files.files import finds_tags, write
from tests.input_errors import error_of
from tests.snapshots import check_message

KAGGLE = (
    "Sentence #,Word,POS,Tag\nSentence: 1,Anna,NNP,B-per\n,lives,VBZ,O\n"
    ',"1,5",CD,O\nSentence: 2,"""",",",O\n,Rome,NNP,B-geo\n'
)
WORDS_AND_TAGS = [(("Anna", "lives", "1,5"), ("B-per", "O", "O")), (('"', "Rome"), ("O", "B-geo"))]


def read(path, *flags, **named):
    return [
        (example.words, example.tags) for example in read_token_file(Source(path), TokenFlags(*flags, **named)).examples
    ]


@pytest.mark.parametrize("name", ["ner.csv", "ner.txt", "ner.tsv"])
def test_kaggle(tmp_path, name, caplog):
    caplog.set_level(logging.INFO)
    path = write(tmp_path, KAGGLE, name)
    file = read_token_file(Source(path))
    assert [(example.words, example.tags) for example in file.examples] == WORDS_AND_TAGS
    assert file.format == TABLE
    assert file.location(file.examples[1], 1) == f"{path}:6"
    check_message(caplog)


@pytest.mark.parametrize(
    "text",
    [
        'Sentence #;Word;Tag\n1;Anna;B-per\n;lives;O\n;1,5;O\n2;"""";O\n;Rome;B-geo\n',
        'sep=|\nSentence #|Word|Tag\n1|Anna|B-per\n|lives|O\n|1,5|O\n2|""""|O\n|Rome|B-geo\n',
        # Every row has a sentence number, and columns have another order.
        'ner_tag,token,sent_id\nB-per,Anna,7\nO,lives,7\nO,"1,5",7\nO,"""",9\nB-geo,Rome,9\n',
        'token,label\nAnna,B-per\nlives,O\n"1,5",O\n\n"""",O\nRome,B-geo\n',
        'token, label\n"Anna", "B-per"\nlives, O\n"1,5" , "O"\n\n"""" ,O\nRome,B-geo\n',
        'Anna,B-per\nlives,O\n"1,5",O\n,\n"""",O\nRome,B-geo\n',  # empty rows and no header
        "id,tokens,ner_tags\n1,\"['Anna', 'lives', '1,5']\",\"['B-per' 'O' 'O']\"\n"
        "2,\"['\"\"', 'Rome']\",\"['O', 'B-geo']\"\n",
    ],
)  # fmt: skip
def test_other_tables(tmp_path, text):
    assert read(write(tmp_path, text, "a.csv")) == WORDS_AND_TAGS


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "Anna B-per\n, O\n\nRome B-geo\n"),
        ("a.csv", 'Anna\tB-per\n"\tO\n,\tO\n\nRome\tB-geo\n'),
        ("a.txt", ", O\n"),
        ("a.txt", "a,b\n"),
        ("a.txt", "a,b O\nc,d O\n"),
        ("a.txt", "one\ntwo\n"),
    ],
)
def test_columns_with_tabs_or_spaces_are_not_a_table(tmp_path, name, text):
    assert read_token_file(Source(write(tmp_path, text, name)), TokenFlags(with_tags=False)).format == COLUMNS


@pytest.mark.parametrize(
    "text",
    [
        "",
        "word,tag\n",
        "sentence,word,tag\n1,Anna,O\n1,left\n",
        'word,tag\nAnna,"O\n',
        "sentence,word,tag\n1,Anna,O\n1,left,\n",
        "sent,word,pos\n1,Anna,N\n1,left,V\n",
        "Sentence #,Sentence,Tag\n1,Anna left,O O\n",
    ],
)
def test_invalid_tables(tmp_path, text):
    path = write(tmp_path, text, "a.csv")
    check_message(error_of(read_token_file, Source(path), TokenFlags(flag="dev_file")), path)


def test_sentences_without_tags_are_skipped(tmp_path):
    path = write(tmp_path, "sent,word,tag\n1,Anna,O\n1,left,\n2,Rome,B-geo\n", "a.csv")
    assert read(path, skip_unlabeled=True) == [(("Rome",), ("B-geo",))]


def test_sentence_per_row_as_text(tmp_path):
    path = write(tmp_path, "Sentence,Tag\nAnna left,\"['B-per', 'O']\"\n", "a.csv")
    assert read(path, "Sentence") == [(("Anna", "left"), ("B-per", "O"))]


def test_numbers_in_lists_get_names(tmp_path):
    path = write(tmp_path, "tokens,ner_tags\n\"['Anna', 'left']\",\"[1, 0]\"\n", "a.csv")
    assert read(path, labels=("O", "B-per")) == [(("Anna", "left"), ("B-per", "O"))]
    check_message(error_of(read_token_file, Source(path)), f"{path}:2: ")


FRAME = pd.DataFrame({"Sentence #": ["S1", None, "S2"], "Word": ["Anna", "left", "3"], "Tag": ["B-per", "O", "O"]})


def test_parquet_and_sheets(tmp_path):
    expected = [(("Anna", "left"), ("B-per", "O")), (("3",), ("O",))]
    FRAME.to_parquet(tmp_path / "a.parquet")
    FRAME.to_excel(tmp_path / "a.xlsx", index=False)
    FRAME.to_csv(tmp_path / "a.csv.gz", index=False)
    for name in ("a.parquet", "a.xlsx", "a.csv.gz"):
        path = str(tmp_path / name)
        assert has_tokens(Source(path), TokenFlags())
        assert read(path) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"sent_id": 1, "word": "Anna", "tag": "B-per"}\n{"sent_id": 1, "word": "left", "tag": "O"}\n'
        '{"sent_id": 2, "word": "3", "tag": "O"}\n',
        '[{"token": "Anna", "ner": "B-per", "s": 1, "sentence": 4}, {"token": "left", "ner": "O", "sentence": 4},'
        ' {"token": "3", "ner": "O", "sentence": 7}]',
    ],
)
def test_word_per_json_record(tmp_path, text):
    path = write(tmp_path, text, "a.json")
    assert has_tokens(Source(path), TokenFlags())
    assert read(path) == [(("Anna", "left"), ("B-per", "O")), (("3",), ("O",))]


def test_empty_rows_of_a_sheet_end_sentences(tmp_path):
    path = tmp_path / "a.xlsx"
    rows = [["Anna", "B-per"], ["left", "O"], [None, None], ["Rome", "B-geo"]]
    pd.DataFrame(rows).to_excel(path, index=False, header=False)
    assert read(str(path)) == [(("Anna", "left"), ("B-per", "O")), (("Rome",), ("B-geo",))]


def test_tag_names_in_hugging_face_parquet(tmp_path):
    path = str(tmp_path / "a.parquet")
    table = pa.table({"id": ["0"], "tokens": [["Anna", "left"]], "ner_tags": [[1, 0]]})
    pq.write_table(table, path)
    assert error_of(read_token_file, Source(path)).startswith(f'{path}:1: "ner_tags" has numbers')
    names = {"feature": {"names": ["O", "B-PER"], "_type": "ClassLabel"}, "_type": "Sequence"}
    metadata = {"huggingface": json.dumps({"info": {"features": {"ner_tags": names}}})}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    file = read_token_file(Source(path))
    assert (file.format, file.tags) == (WORDS, [("B-PER", "O")])
    assert json.loads(file.lines[0]) == {"id": "0", "tokens": ["Anna", "left"], "ner_tags": [1, 0]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("word,tag\na,O\nb,O\n", True),
        ("sent_id,word\n1,a\n1,b\n", False),
        ("word,pos\na,N\nb,V\n", False),
        ("a,O\nb,O\n", True),
        ("words,tags\n\"['a', 'b']\",\"['O', 'B-X']\"\n", True),  # lists as texts
        ("id,words\n1,\"['a', 'b']\"\n", False),
    ],
)
def test_has_tags(tmp_path, text, expected):
    assert finds_tags(Source(write(tmp_path, text, "a.csv")), TokenFlags()) == expected
