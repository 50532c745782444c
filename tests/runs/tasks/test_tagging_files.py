"""Files for splits, and their labels."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.annotations.reading import BRAT
from bert_cli.examples.tagging import TaggingExample, TaggingFile
from bert_cli.examples.token_files.notation import DETECTED
from bert_cli.flags.option import build
from bert_cli.runs.tasks.tagging_files import check_split_labels, find_file, read_tagging_split, token_flags
from bert_cli.settings.tagging import TagSettings
from tests.snapshots import raises


def test_files_in_a_directory(tmp_path):
    (tmp_path / "dev.csv").touch()
    assert find_file(None, str(tmp_path), "dev") == f"{tmp_path}/dev.csv"
    (tmp_path / "dev.txt").touch()  # a usual suffix comes first
    assert find_file(None, str(tmp_path), "dev") == f"{tmp_path}/dev.txt"
    (tmp_path / "dev.jsonl").touch()
    with raises(InputError, "--dev_file"):
        find_file(None, str(tmp_path), "dev")
    assert find_file(f"{tmp_path}/dev.jsonl", str(tmp_path), "dev") == f"{tmp_path}/dev.jsonl"


def test_missing_files(tmp_path):
    with raises(InputError, "/train.txt: "):
        find_file(None, str(tmp_path), "train")
    with raises(InputError, "--train_file"):
        find_file(f"{tmp_path}/a.txt", str(tmp_path), "train")


@pytest.mark.parametrize(("split", "skips"), [("train", True), ("dev", True), ("test", False)])
def test_only_test_keeps_unlabeled_sentences(split, skips):
    settings = build(TagSettings, {"skip_unlabeled": True, "word_column": "w"})
    flags = token_flags(settings, split, ("O", "B-PER", "I-PER"))
    assert (flags.skip_unlabeled, flags.word_column, flags.flag) == (skips, "w", f"{split}_file")
    assert flags.types == {"PER"}


def test_a_text_file_may_have_spacys_suffix(tmp_path):
    path = tmp_path / "train.spacy"
    path.write_text("Ann B-PER\nleft O\n", encoding="utf-8")
    assert read_tagging_split("train", str(path), build(TagSettings, {}), DETECTED, "prodigy")[2]


@pytest.mark.parametrize(
    "text", ["Anna lives in Rome .\nTom works .\n", "Anna lives in Rome .\nTom works there .\nEva left it all .\n"]
)
def test_sentences_as_a_test_file(tmp_path, text):
    path = tmp_path / "test.txt"
    path.write_text(text, encoding="utf-8")
    arguments = (str(path), build(TagSettings, {}), DETECTED, "prodigy", ("O", "B-PER", "I-PER"))
    with raises(InputError, "--input_file="):
        read_tagging_split("test", *arguments)
    with raises(InputError, "test.txt:2: "):
        read_tagging_split("dev", *arguments)
    # A row without a cell is named as before.
    path.write_text("Anna x B-PER\nleft O\nRome x I-PER\n", encoding="utf-8")
    with raises(InputError, "test.txt:2: "):
        read_tagging_split("test", *arguments)


def file_with(tag: str, **options) -> TaggingFile:
    return TaggingFile("a.txt", ("Ann",), (TaggingExample(("Ann",), (tag,), 1),), **options)


def test_labels_of_the_model():
    check_split_labels(file_with("B-PER"), ("O", "B-PER", "I-PER"), "dev")
    with raises(InputError, "a.txt:1: "):
        check_split_labels(file_with("B-LOC"), ("O", "B-PER", "I-PER"), "test")


def test_brat_has_no_types_with_spaces():
    labels = ("O", "B-my type", "I-my type")
    check_split_labels(file_with("O"), labels, "test")
    with raises(InputError, "a.txt: "):
        check_split_labels(file_with("O", format=BRAT), labels, "test")
