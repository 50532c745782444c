"""Checks for suspicious tokenizer files."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.opening.vocab_file import check_casing
from bert_cli.text.tokenizer_settings import TokenizerSettings
from bert_cli.text.vocabulary import vocabulary_of
from tests.snapshots import check_message, raises

VOCABULARY = vocabulary_of(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog", "##s"], "vocab.txt")


def test_directories_of_google_have_one_casing():
    folder = "/models/uncased_L-12_H-768_A-12"
    check_casing(True, VOCABULARY, folder)
    with raises(InputError, "--do_lower_case=false"):
        check_casing(False, VOCABULARY, folder)


@pytest.mark.parametrize(
    ("folder", "stored", "message"),
    [
        ("my-uncased-bert", None, "--do_lower_case is false, but the name my-uncased-bert says true"),
        ("my-uncased-bert", ("flags.txt", False), None),
        ("bert", ("flags.txt", True), "--do_lower_case=false, but flags.txt says true; leave the flag out"),
    ],
)
def test_other_conflicts_are_warnings(folder, stored, message, caplog):
    check_casing(False, VOCABULARY, f"/{folder}", stored)
    assert [text.startswith(f"warning: {message}") for text in caplog.messages] == ([True] if message else [])


def test_vowel_marks_in_a_vocabulary_with_stripped_accents(caplog):
    """A model's own files come first: they know how it was trained."""
    vocabulary = vocabulary_of(["[UNK]", "[CLS]", "[SEP]", "[MASK]", "बहुत", "##ु"], "vocab.txt")
    check_casing(False, vocabulary, None)
    check_casing(True, vocabulary, None, ("tokenizer_config.json", True))
    check_casing(True, vocabulary, None, settings=TokenizerSettings(strip_accents=False))
    assert caplog.messages == []
    check_casing(True, vocabulary, None)
    check_message(caplog, "--do_lower_case=false")
    with pytest.raises(InputError, match="vowel marks"):
        check_casing(True, vocabulary, None, strict=True)
