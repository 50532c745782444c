"""bert-tokenize and Tokenizer: tokens, ids and segments as in training."""

import json

import pytest

from bert_cli import Tokenizer
from bert_cli.base.errors import InputError
from bert_cli.tokenize_text import main
from tests.snapshots import check_message, raises

TEXT, OTHER = "The old dog, Qua ღ!", "a cat"
RECORD = {
    "tokens": ["[CLS]", "the", "old", "dog", ",", "q", "##u", "##a", "[UNK]", "[UNK]", "[SEP]", "a", "cat", "[SEP]"],
    "segment_ids": [0] * 11 + [1] * 3,
}


@pytest.fixture
def vocabulary(model):
    return (model / "vocab.txt").read_text(encoding="utf-8").split("\n")


def test_a_pair_as_json(model, vocabulary, capsys):
    assert main([f"{TEXT} ||| {OTHER}", f"--vocab_file={model / 'vocab.txt'}", "--format=jsonl"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert set(record) == {"tokens", "input_ids", "segment_ids"}
    assert {name: record[name] for name in RECORD} == RECORD
    assert [vocabulary[number] for number in record["input_ids"]] == record["tokens"]


def test_lines_of_a_file_as_tables(model, tmp_path, capsys):
    (tmp_path / "texts.txt").write_text(f"{TEXT}\n\nthe cat\n", encoding="utf-8")
    assert main([f"--input_file={tmp_path / 'texts.txt'}", f"--vocab_file={model / 'vocab.txt'}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 11 + 1 + 4
    assert [line.split()[2:] for line in lines[8:10]] == [["##a"], ["[UNK]", "<-", "ღ"]]
    assert lines[10].endswith("[UNK]  <- !")


def test_offsets_are_places_in_each_text(model, capsys):
    flags = (f"{TEXT} ||| {OTHER}", f"--vocab_file={model / 'vocab.txt'}", "--offsets")
    assert main([*flags, "--format=jsonl"]) == 0
    record = json.loads(capsys.readouterr().out)
    places = [place and TEXT[slice(*place)] for place in record["offsets"][:11]]
    assert places == [None, "The", "old", "dog", ",", "Q", "u", "a", "ღ", "!", None]
    assert record["offsets"][11:] == [[0, 1], [2, 5], None]
    assert main([*flags]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["id", "segment", "start", "end", "token"]
    assert lines[2].split()[2:] == ["0", "3", "the"]
    assert lines[1].split()[2:] == ["[CLS]"]


def test_the_vocabulary_of_a_model_and_its_casing(trained, capsys):
    assert main(["The dog", f"--init_checkpoint={trained}", "--do_lower_case=false", "--format=jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == ["[CLS]", "[UNK]", "dog", "[SEP]"]
    assert main(["The dog", "--format=jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == ["[CLS]", "the", "dog", "[SEP]"]


def test_refusals(tmp_path, capsys):
    assert main(["a", f"--vocab_file={tmp_path / 'no.txt'}"]) == 1
    check_message(capsys.readouterr().err, "no.txt: ")
    with raises(InputError, "no.txt: "):
        Tokenizer.load(tmp_path / "no.txt")


def test_from_python(model, trained, capsys):
    for path in (model / "vocab.txt", trained):
        tokenizer = Tokenizer.load(path)
        assert tokenizer.vocab_size == 98
        assert tokenizer.do_lower_case
        assert tokenizer.tokenize(OTHER) == ["a", "cat"]
        encoded = tokenizer.encode(TEXT, OTHER)
        assert {name: encoded[name] for name in RECORD} == RECORD
    assert not Tokenizer.load(trained, do_lower_case=False).do_lower_case
    for call in (tokenizer.tokenize, tokenizer.encode):
        with raises(InputError, "text: "):
            call(3)
    with raises(InputError, "text_b: "):
        tokenizer.encode("a", 3)
