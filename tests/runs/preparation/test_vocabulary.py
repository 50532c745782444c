"""Vocabularies from counted words."""

from bert_cli.base.errors import InputError
from bert_cli.runs.preparation.vocabulary import (
    build_word_vocabulary,
    count_words,
    coverage_figures,
    learn_extended_vocabulary,
    read_vocabulary_to_extend,
)
from bert_cli.settings.preparation import VocabularySize
from bert_cli.settings.texts import PLAIN_TEXT
from bert_cli.text.tokenization import BasicTokenizer
from bert_cli.text.vocabulary import SPECIAL, vocabulary_of
from tests.snapshots import check_message, raises

COUNTS = [("dog", 6), ("cat", 3), ("ox", 1)]


def test_words_are_counted_over_files(tmp_path):
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    paths[0].write_text("Dog dog, cat\n")
    paths[1].write_text("dog\n")
    counts = count_words(list(map(str, paths)), BasicTokenizer(), 1, PLAIN_TEXT)
    assert dict(counts) == {"dog": 3, "cat": 1, ",": 1}
    assert counts[0] == ("dog", 3)


def test_texts_without_words_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("\n \n")
    with raises(InputError, "--input_file"):
        count_words([str(tmp_path / "a.txt")], BasicTokenizer(), 1, PLAIN_TEXT)


def test_whole_words(caplog):
    with caplog.at_level("INFO", "bert_cli"):
        assert build_word_vocabulary(COUNTS, ["[PAD]"], 3, 2) == ["[PAD]", "dog", "cat"]
    check_message(caplog.messages[0], "3 distinct")


def test_new_words_replace_unused_tokens():
    vocabulary = vocabulary_of([*SPECIAL, "[unused0]", "d", "##o", "##g"], "vocab.txt")
    tokens = learn_extended_vocabulary([("dog", 6), ("cat", 3)], vocabulary, VocabularySize(min_count=1), "v.txt")
    assert tokens == [*SPECIAL, "dog", "d", "##o", "##g"]  # the most frequent one


def test_new_words_need_a_place():
    vocabulary = vocabulary_of([*SPECIAL, "dog"], "vocab.txt")
    with raises(InputError, "vocab.txt: "):
        learn_extended_vocabulary(COUNTS, vocabulary, VocabularySize(min_count=1), "v.txt")
    assert learn_extended_vocabulary(COUNTS, vocabulary, VocabularySize(vocab_size=7, min_count=1), "v.txt") == [
        *SPECIAL,
        "dog",
        "cat",
    ]


def test_missing_special_tokens_are_added(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("dog\n[UNK]\n")
    vocabulary = read_vocabulary_to_extend(VocabularySize(extend=str(path), add_special_tokens=True))
    assert vocabulary.tokens[:2] == ["dog", "[UNK]"]
    assert set(vocabulary.tokens[2:]) == set(SPECIAL) - {"[UNK]"}
    with raises(InputError, "--vocab_size=3"):
        read_vocabulary_to_extend(VocabularySize(extend=str(path), add_special_tokens=True, vocab_size=3))


def test_coverage():
    figures = coverage_figures([("dog", 3), ("cats", 1)], ["[UNK]", "dog", "cat", "##s"])
    assert figures == {"vocab_size": 4, "pieces_per_word": 1.25, "unknown_share": 0.0}
