"""Words and tags in columns."""

import logging

import pytest

from bert_cli.examples.tagging import COLUMNS
from bert_cli.examples.token_files.columns import read_column_file
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.reading.rows import LeftOutRows
from bert_cli.reading.source import Source
from tests.examples.token_files.files import CONLL, sentences, write
from tests.input_errors import error_of
from tests.snapshots import check_message


def test_four_columns_with_spaces(tmp_path):
    path = write(tmp_path, CONLL)
    file = read_column_file(Source(path))
    assert sentences(file) == [(("EU", "rejects"), ("I-ORG", "O"), 3), (("Peter",), ("I-PER",), 6)]
    assert "\n".join(file.lines) == CONLL
    assert (file.path, file.format) == (path, COLUMNS)
    assert [example.tags for example in read_column_file(Source(path), TokenFlags(tag_column="2")).examples] == [
        ("I-NP", "I-VP"),
        ("I-NP",),
    ]
    assert read_column_file(Source(path), TokenFlags("-3", "0")).examples[0].words == ("NNP", "VBZ")
    assert sentences(read_column_file(Source(path), TokenFlags(with_tags=False)))[1] == (("Peter",), None, 6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\tO\nb\tO", [("a", "b")]),  # without newline at the end
        ("a\tO\r\n\r\nb\tO\r\n", [("a",), ("b",)]),
        (b"\xef\xbb\xbfa\tO\n", [("a",)]),
        ("a\tO\n\t\nb\tO\n", [("a",), ("b",)]),  # a line of white space
        ("a\tO\n \u3000 \nb\tO\n\n\n\nc\tO\n", [("a",), ("b",), ("c",)]),
        ("a b\tO\nc d\tO\n", [("a b", "c d")]),  # words may contain spaces if tabs separate the columns
        ("a O\nb\tO\n", [("a", "b")]),  # each line has its own separator
        ("  a   O \n", [("a",)]),
        ("a\tO\n-DOCSTART-\tO\nb\tO\n", [("a",), ("b",)]),  # the mark ends a sentence without a blank line
        ("\u00a0\tO\n\u200b\tO\n", [("\u00a0", "\u200b")]),  # the tokenizer deletes these words
        ("\u00a0 O\na\u2028b O\n", [("\u00a0", "a\u2028b")]),
    ],
)
def test_lines(tmp_path, text, expected):
    assert [example.words for example in read_column_file(Source(write(tmp_path, text))).examples] == expected


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("", (0, -1)),
        ("\n-DOCSTART- O\n", (0, -1)),
        ("a\nb\n", (0, -1)),
        ("a O\nb\n", (0, 1)),
        ("a x O\nb O\nc O\n", (0, -1)),
        ("a O\n\nb c O\n", (0, -1)),
        ("a O\n", (1, -1)),
        ("a O\n", (0, -3)),
        ("\tO\na\tO\n\tO\n", (0, -1)),
        ("a\t\n", (0, -1)),
        (b"a O\n\xff O\n", (0, -1)),
        ("a O\rb O\n", (0, -1)),
    ],
)
def test_invalid_files(tmp_path, text, columns):
    path = write(tmp_path, text)
    message = error_of(read_column_file, Source(path), TokenFlags(*map(str, columns)))
    check_message(message, path)
    assert "\n" not in message


def test_rows_may_differ_if_no_column_is_counted_from_the_end(tmp_path):
    assert read_column_file(Source(write(tmp_path, "a O\nb O extra\n")), TokenFlags("0", "1")).examples[0].tags == (
        "O",
        "O",
    )


def test_repeated_column(tmp_path):
    path = write(tmp_path, "a O\n")
    check_message(error_of(read_column_file, Source(path), TokenFlags("1", "1")), "--tag_column: ")


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO)
    return caplog


def words_of(path, *flags, **named):
    return [example.words for example in read_column_file(Source(path), TokenFlags(*flags, **named)).examples]


GERMEVAL = "#\thttp://example.org/a [2009-10-17]\n1\tAnna\tB-PER\tO\n2\tsingt\tO\tO\n\n#\thttp://example.org/b\n1\tLee\tB-PER\tO\n"
CONLL_U = (
    "# sent_id = 1\n# text = zum Haus # 7\n1-2\tzum\t_\t_\n1\tzu\tADP\tO\n2\tdem\tDET\tO\n3\tHaus\tNOUN\tB-LOC\n"
    "3.1\tsei\tAUX\t_\n\n# text = #\n1\t#\tSYM\tO\n"
)


def test_germeval_source_lines_are_comments(tmp_path):
    path = write(tmp_path, GERMEVAL)
    file = read_column_file(Source(path), TokenFlags("1", "2"))
    assert sentences(file) == [(("Anna", "singt"), ("B-PER", "O"), 2), (("Lee",), ("B-PER",), 6)]
    assert file.facts.left_out == (LeftOutRows("comments that begin with #", 2, 1, is_requested=True),)
    assert words_of(path, "1", with_tags=False) == [("Anna", "singt"), ("Lee",)]


def test_comments_and_skipped_rows_in_conll_u(tmp_path):
    path = write(tmp_path, CONLL_U)
    file = read_column_file(Source(path), TokenFlags("1", "3"))
    assert sentences(file) == [(("zu", "dem", "Haus"), ("O", "O", "B-LOC"), 4), (("#",), ("O",), 10)]
    assert file.location(file.examples[0], 2) == f"{path}:6"
    reasons = {rows.reason: rows.num_rows for rows in file.facts.left_out}
    assert list(reasons.values()) == [3, 2]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#begin document (a); part 000\na B-x\nb O\n\n#end document\n", [("a", "b")]),
        ("# id = 7\na O\n# text = b\nb B-x\n", [("a", "b")]),  # a comment does not end a sentence
        ("## the source\na O\n", [("a",)]),
        ("#\thttp://x.org\na\tO\n", [("a",)]),  # the same number of columns
    ],
)
def test_comments(tmp_path, text, expected):
    assert words_of(write(tmp_path, text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# O\na O\n", [("#", "a")]),
        ("#\tO\na\tB-x\nb\tO\n", [("#", "a", "b")]),
        ("# B-x\na O\n", [("#", "a")]),  # a tag that no other word has
        ("# #\na NN\n", [("#", "a")]),  # the tag of # in the Penn Treebank
        ("#news B-x\na O\n", [("#news", "a")]),
        ("a O\n#news B-y\n", [("a", "#news")]),
    ],
)
def test_words_with_a_number_sign_stay_words(tmp_path, text, expected):
    assert words_of(write(tmp_path, text)) == expected


def test_lines_between_words_keep_their_numbers(tmp_path):
    path = write(tmp_path, "a O\n# text = x\nb B-x\n")
    file = read_column_file(Source(path))
    assert [file.line_of(file.examples[0], word) for word in (0, 1)] == [1, 3]


def test_header_is_skipped_and_names_the_columns(tmp_path, log):
    path = write(
        tmp_path, "Sentence #\tToken\tPOS\tNER\n1\tAnna\tNN\tPER\n1\tsings\tV\tO\n2\tLee\tNN\tPER\n2\tLee\tNN\tPER\n"
    )
    file = read_column_file(Source(path))
    assert sentences(file) == [(("Anna", "sings"), ("PER", "O"), 2), (("Lee", "Lee"), ("PER", "PER"), 4)]
    assert file.header == 1
    check_message(log)
    assert file.facts.columns == {"word": ("Token",), "tag": ("NER",), "sentence": ("Sentence #",)}
    assert (file.facts.num_rows, list(file.facts.not_used)) == (2, ["POS"])


def test_repeated_header_is_skipped(tmp_path):
    path = write(tmp_path, "Word\tTag\na\tO\nb\tx\nWord\tTag\nc\tO\n")
    file = read_column_file(Source(path))
    assert sentences(file) == [(("a", "b"), ("O", "x"), 2), (("c",), ("O",), 5)]
    assert [(rows.num_rows, rows.line) for rows in file.facts.left_out] == [(1, 4)]


def test_flags_name_columns(tmp_path):
    path = write(tmp_path, "Token\tPOS\tNER\nAnna\tNN\tPER\nsings\tV\tO\n")
    assert read_column_file(Source(path), TokenFlags("Token", "POS")).tags == [("NN", "V")]
    assert read_column_file(Source(path), TokenFlags("NER", "0")).examples[0].words == ("PER", "O")
    check_message(error_of(read_column_file, Source(path), TokenFlags(tag_column="Tag")), f"{path}:1: ")


def test_file_without_blank_lines_has_a_warning(tmp_path, log):
    path = write(tmp_path, "a O\n. O\nb B-x\n. O\n")
    read_column_file(Source(path))
    warning = "there is no blank line, so all 4 words are one sentence; put a blank line after each sentence"
    assert log.messages == [f"{path}: warning: {warning}"]
    log.clear()
    read_column_file(Source(write(tmp_path, "a O\n. O\n\nb B-x\n. O\n")))
    read_column_file(Source(write(tmp_path, "a O\nb B-x\n. O\n")))
    assert not log.messages


def test_word_numbers_are_not_words(tmp_path):
    path = write(tmp_path, GERMEVAL)
    check_message(error_of(read_column_file, Source(path)), f"{path}:2: ")
    assert words_of(path, "0") == [("1", "2"), ("1",)]


UNLABELED = "a\tO\n\nb\t\nc\tO\n\nd\tB-x\n"


@pytest.mark.parametrize("text", [UNLABELED, UNLABELED.replace("b\t\n", "b\n"), UNLABELED.replace("\t", " ")])
def test_sentences_with_a_word_without_a_tag(tmp_path, text):
    path = write(tmp_path, text)
    message = error_of(read_column_file, Source(path))
    assert message.startswith(f"{path}:3: ")
    check_message(message, "--skip_unlabeled")
    file = read_column_file(Source(path), TokenFlags(skip_unlabeled=True))
    assert [example.words for example in file.examples] == [("a",), ("d",)]
    assert file.facts.left_out == (LeftOutRows("sentences with a word without a tag", 1, 3, is_requested=True),)


def test_file_without_tagged_sentences(tmp_path):
    path = write(tmp_path, "a\t\n\nb\t\n")
    message = f"{path}:1: no sentence has a tag for every word; check --tag_column"
    assert error_of(read_column_file, Source(path), TokenFlags(skip_unlabeled=True)) == message


def test_empty_file_is_reported_with_its_flag(tmp_path):
    path = write(tmp_path, "\n")
    check_message(error_of(read_column_file, Source(path), TokenFlags(flag="dev_file")), "--dev_file")


def test_numbers_get_the_names_of_labels(tmp_path, log):
    path = write(tmp_path, "Anna 1\nLee 2\nran 0\n")
    assert read_column_file(Source(path), TokenFlags(labels=("O", "B-x", "I-x"))).tags == [("B-x", "I-x", "O")]
    check_message(error_of(read_column_file, Source(path), TokenFlags(labels=("O", "B-x"))), f"{path}:2: ")
    assert read_column_file(Source(path), TokenFlags(are_types=True)).tags == [("1", "2", "0")]
    assert not log.messages
    assert read_column_file(Source(path)).tags == [("1", "2", "0")]
    check_message(log.messages[0], f"{path}: ")
