"""Flags for files with words and tags."""

from bert_cli.examples.token_files.flags import TokenFlags


def test_columns_are_numbers_or_names():
    numbers = TokenFlags("2", "-3").rules
    assert (numbers.word_number, numbers.tag_number, numbers.word_name, numbers.tag_name) == (2, -3, "", "")
    names = TokenFlags("Word", "a-1").rules
    assert (names.word_number, names.tag_number, names.word_name, names.tag_name) == (0, -1, "Word", "a-1")


def test_advice_names_the_files_flag():
    assert TokenFlags(flag="dev_file").check_flag == "; check --dev_file"
    assert TokenFlags().check_flag == ""
