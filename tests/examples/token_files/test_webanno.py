"""WebAnno TSV 3 files, with literal rows."""

import logging

import pytest

from bert_cli.examples.token_files.flags import DEFAULTS, TokenFlags
from bert_cli.examples.token_files.reading import has_tokens, read_token_file
from bert_cli.reading.source import Source
from tests.examples.token_files.files import finds_tags, sentences, write
from tests.input_errors import error_of
from tests.snapshots import check_message

ENTITIES = "#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value"
OTHERS = "#T_SP=webanno.custom.Mood|mood\n#T_RL=webanno.custom.Link|kind|BT_webanno.custom.Mood"
ROWS = (
    "#Text=Ann Lee left\n1-1\t0-3\tAnn\t*[1]\tPER[1]\t\n1-2\t4-7\tLee\t*[1]\tPER[1]\t\n1-3\t8-12\tleft\t_\t_\t\n\n"
    "#Text=Rome Oslo_x\n2-1\t13-17\tRome\t*\tLOC\t\n2-2\t18-24\tOslo_x\t*\tLOC\\_1\t\n"
)
EXPECTED = [
    (("Ann", "Lee", "left"), ("B-PER", "I-PER", "O"), 6),
    (("Rome", "Oslo_x"), ("B-LOC", "B-LOC_1"), 11),
]


def webanno(rows, layers=ENTITIES, version="3.3"):
    return f"#FORMAT=WebAnno TSV {version}\n{layers}\n\n\n{rows}"


def read(tmp_path, rows, layers=ENTITIES, flags=DEFAULTS):
    return read_token_file(Source(write(tmp_path, webanno(rows, layers), "a.tsv")), flags)


@pytest.mark.parametrize(
    "flags", [TokenFlags(), TokenFlags("2", "4"), TokenFlags(tag_column="value"), TokenFlags("2", "-1")]
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_named_entities(tmp_path, flags, line_end):
    path = write(tmp_path, webanno(ROWS).replace("\n", line_end), "a.tsv")
    file = read_token_file(Source(path), flags)
    assert sentences(file) == EXPECTED
    assert file.location(file.examples[1], 1) == f"{path}:12"
    assert (finds_tags(Source(path), flags), has_tokens(Source(path), flags)) == (True, True)


def test_texts_without_annotations(tmp_path):
    """A document without layers has three columns, so it can be tagged, but not trained on."""
    path = write(tmp_path, "#FORMAT=WebAnno TSV 3.3\n\n\n#Text=Ann left\n1-1\t0-3\tAnn\t\n1-2\t4-8\tleft\t\n", "a.tsv")
    assert not finds_tags(Source(path), TokenFlags())
    assert sentences(read_token_file(Source(path), TokenFlags(with_tags=False))) == [(("Ann", "left"), None, 5)]
    check_message(error_of(read_token_file, Source(path)))


def test_other_layers(tmp_path):
    """The named entities are used if there are several layers; otherwise, a flag decides."""
    rows = "1-1\t0-3\tAnn\tgood\t_\t_\t*\tPER\t\n"
    assert read(tmp_path, rows, f"{OTHERS}\n{ENTITIES}").examples[0].tags == ("B-PER",)
    mood = read(tmp_path, rows, f"{OTHERS}\n{ENTITIES}", TokenFlags(tag_column="mood"))
    assert mood.examples[0].tags == ("B-good",)
    assert read(tmp_path, "1-1\t0-3\tAnn\tgood\t_\t_\t\n", OTHERS).examples[0].tags == ("B-good",)


@pytest.mark.parametrize(
    ("layers", "flags", "flag"),
    [
        ("#T_SP=a.B|c|d", TokenFlags(), "--tag_column"),
        (ENTITIES, TokenFlags(tag_column="2"), "--tag_column=2"),
        ("#T_SP=a.B|c\n#T_SP=a.D|c", TokenFlags(tag_column="c"), "--tag_column=c"),
        (ENTITIES, TokenFlags(word_column="3"), "--word_column=3: "),
    ],
)
def test_unclear_columns(tmp_path, layers, flags, flag):
    check_message(error_of(read, tmp_path, ROWS, layers, flags), flag)


@pytest.mark.parametrize(
    ("rows", "place"),
    [
        ("1-1\t0-3\tAnn\t*|*[1]\tPER|ORG[1]\t\n", ":5: "),
        ("1-1\t0-3\tAnn\t*\n", ":5: "),
        ("Ann\tO\n", ":5: "),
        ("1-1.1\t0-3\tAnn\t*\tPER\n", ":5: "),
        ("", ""),
    ],
)
def test_invalid_rows(tmp_path, rows, place):
    check_message(error_of(read, tmp_path, rows), place)


def test_another_version(tmp_path):
    path = write(tmp_path, webanno(ROWS, version="4.0"), "a.tsv")
    check_message(error_of(read_token_file, Source(path)), f"{path}:1: ")


def test_parts_of_words_and_missing_values(tmp_path, caplog):
    caplog.set_level(logging.WARNING, "bert_cli")
    rows = "1-1\t0-9\tParisians\t_\t_\t\n1-1.1\t0-5\tParis\t*\tLOC\t\n1-1.2\t5-9\tians\t*\tPER\t\n1-2\t10-13\tare\t*\t*\t\n"
    file = read(tmp_path, rows)
    assert sentences(file) == [(("Parisians", "are"), ("B-LOC", "O"), 5)]
    path = file.path
    assert [message.removeprefix(path) for message in caplog.messages] == [
        ":6: the annotation of 'Paris' (LOC) cuts the word 'Parisians'; it is widened to the whole word",
        ":7: the annotation of 'ians' (PER) cuts the word 'Parisians'; it is left out, the word is in another annotation",
        f": 1 word with an annotation without a value, read as O: {path}:8 'are'",
    ]
