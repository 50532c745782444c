"""bert-build-vocab for whole-word vocabularies, and for special tokens that a user's list lacks."""

import json
import subprocess
import sys

import pytest

from bert_cli.build_vocab import main
from bert_cli.create_pretraining_data import main as create_main
from bert_cli.records.example_proto import decode_example
from bert_cli.records.tfrecord import read_records
from bert_cli.run_pretraining import main as pretrain_main
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary
from bert_cli.tokenize_text import main as tokenize_main
from tests.commands import helpers
from tests.rows import write_rows
from tests.snapshots import check_message

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LONG = "x" * 201
TEXT = f"""The cat sees the dog , the bird .
A dog likes a cat .

{LONG} {LONG} {LONG} {LONG}
The cat sings . "Zebra , cat"
"""
# Words by count (4, 3, 2) and code point. LONG occurs 4 times, but words longer than 200
# characters are always [UNK].
RANKED = ["cat", "the", ".", '"', ",", "a", "dog"]
OWN = ["cat", "the", "dog", "##s"]


@pytest.fixture
def build(tmp_path, monkeypatch, capfd):
    """Call the command in a directory with text.txt and own.txt, a list without special tokens."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT)
    write_rows(tmp_path / "own.txt", OWN)

    def call(**values) -> helpers.Outcome:
        return helpers.call(capfd, "bert-build-vocab", main, *helpers.words(values))

    return call


def tokens(path="vocab.txt") -> list[str]:
    return read_vocabulary(path).tokens


def test_algorithm_words_has_the_most_frequent_words_first(build):
    outcome = build(input_file="text.txt", algorithm="words")
    assert outcome.code == 0
    assert tokens() == [*SPECIAL, *RANKED]
    check_message(outcome.lines, "13 distinct")
    assert outcome.lines[-1] == "Wrote vocab.txt: 12 tokens"


def test_algorithm_words_gives_unk_for_a_rare_word(build):
    assert build(input_file="text.txt", algorithm="words").code == 0
    tokenizer = FullTokenizer(read_vocabulary("vocab.txt"))
    assert tokenizer.tokenize("The zebra, cats") == ["the", "[UNK]", ",", "[UNK]"]


def test_algorithm_words_with_vocab_size_min_count_and_reserved_tokens(build):
    assert build(input_file="text.txt", algorithm="words", vocab_size=7).code == 0
    assert tokens() == [*SPECIAL, "cat", "the"]
    assert build(input_file="text.txt", algorithm="words", min_count=3).code == 0
    assert tokens() == [*SPECIAL, "cat", "the", "."]
    assert build(input_file="text.txt", algorithm="words", min_count=4, reserved_tokens="[unused0],cat").code == 0
    assert tokens() == [*SPECIAL, "[unused0]", "cat", "the"]
    assert build(input_file="text.txt", algorithm="words", do_lower_case="false", min_count=1).code == 0
    assert {"The", "the", "Zebra"} <= set(tokens())
    assert LONG not in tokens()


def test_algorithm_words_with_workers_gives_the_same_list(build):
    assert build(input_file="text.txt", algorithm="words").code == 0
    assert build(input_file="text.txt", algorithm="words", output_file="two.txt", num_workers=2).code == 0
    assert tokens("two.txt") == tokens()


def test_algorithm_wordpiece_is_the_default(build):
    assert build(input_file="text.txt").code == 0
    assert build(input_file="text.txt", algorithm="wordpiece", output_file="named.txt").code == 0
    assert tokens("named.txt") == tokens()
    assert "##o" in tokens()


def test_algorithm_words_needs_no_tensorflow(build):
    script = "import sys; from bert_cli.build_vocab import main; main(sys.argv[1:]); print('tensorflow' in sys.modules)"
    flags = ["--input_file=text.txt", "--algorithm=words"]
    done = subprocess.run([sys.executable, "-c", script, *flags], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_add_special_tokens_puts_them_at_the_end(build):
    outcome = build(extend="own.txt", add_special_tokens="true")
    assert outcome.code == 0
    assert tokens() == [*OWN, *SPECIAL]
    check_message(outcome.lines)


def test_add_special_tokens_adds_only_missing_tokens(build, tmp_path):
    (tmp_path / "own.txt").write_text("[PAD]\r\ncat\r\n\r\n[CLS]\r\n[SEP]\r\ncat")
    assert build(extend="own.txt", add_special_tokens="true").code == 0
    expected = ["[PAD]", "cat", "", "[CLS]", "[SEP]", "cat", "[UNK]", "[MASK]"]
    assert tokens() == expected
    outcome = build(extend="vocab.txt", add_special_tokens="true", output_file="again.txt")
    check_message(outcome.lines[0], "vocab.txt: ")
    assert tokens("again.txt") == expected


def test_add_special_tokens_comes_before_words_of_a_text(build):
    outcome = build(extend="own.txt", add_special_tokens="true", input_file="text.txt", vocab_size=11)
    assert outcome.code == 0
    assert tokens() == [*OWN, *SPECIAL, ".", '"']


@pytest.mark.parametrize("size", [None, 9])
@pytest.mark.parametrize("text", ["the cat the dog\ncats dogs\n", "the the the\n", "cat zebra\n"])
def test_text_without_new_words_adds_only_special_tokens(build, tmp_path, text, size):
    """Such texts have known words, words that only one piece more would help, or rare words."""
    (tmp_path / "known.txt").write_text(text)
    flags = {} if size is None else {"vocab_size": size}
    outcome = build(extend="own.txt", add_special_tokens="true", input_file="known.txt", **flags)
    assert outcome.code == 0, outcome.err
    assert tokens() == [*OWN, *SPECIAL]
    check_message(outcome.lines, "0 words")
    # The same for a list that has special tokens.
    second_outcome = build(extend="vocab.txt", input_file="known.txt", output_file="again.txt", **flags)
    assert second_outcome.code == 0, second_outcome.err
    assert tokens("again.txt") == [*OWN, *SPECIAL]


def test_new_words_replace_unused_tokens_and_special_tokens_are_appended(build, tmp_path):
    (tmp_path / "own.txt").write_text("the\n[unused0]\ncat\n[SEP]\n[unused1]\n")
    (tmp_path / "few.txt").write_text("the zebra the zebra\n")
    missing = ["[PAD]", "[UNK]", "[CLS]", "[MASK]"]
    assert build(extend="own.txt", add_special_tokens="true", input_file="few.txt").code == 0
    assert tokens() == ["the", "zebra", "cat", "[SEP]", "[unused1]", *missing]
    (tmp_path / "many.txt").write_text("zebra horse bird " * 2 + "zebra horse zebra\n")
    assert build(extend="own.txt", add_special_tokens="true", input_file="many.txt").code == 0
    assert tokens() == ["the", "zebra", "cat", "[SEP]", "horse", *missing]
    assert build(extend="own.txt", add_special_tokens="true", input_file="many.txt", vocab_size=10).code == 0
    assert tokens() == ["the", "zebra", "cat", "[SEP]", "horse", *missing, "bird"]


@pytest.mark.parametrize("text", ["zebra zebra the\n", "zebra horse ibis lynx " * 2 + "zebra horse ibis zebra"])
def test_new_words_without_room_are_named(build, tmp_path, text):
    (tmp_path / "new.txt").write_text(text)
    for flags in ({"input_file": "new.txt"}, {"input_file": "new.txt", "vocab_size": 9}):
        build(extend="own.txt", add_special_tokens="true", **flags).assert_refused("own.txt: ")
    assert not (tmp_path / "vocab.txt").exists()


def test_word_that_would_break_other_words_is_not_added(build, tmp_path):
    """abcd is ab ##cd; if abc were a token, the rest d would have no piece."""
    write_rows(tmp_path / "list.txt", [*SPECIAL, "ab", "##c", "##cd"])
    (tmp_path / "text.txt").write_text("abc abc abcd\n")
    assert build(extend="list.txt", input_file="text.txt").code == 0
    assert tokens() == [*SPECIAL, "ab", "##c", "##cd"]


RECORD_FLAGS = (
    "--input_file=text.txt", "--vocab_file=vocab.txt", "--max_seq_length=16", "--max_predictions_per_seq=2",
)  # fmt: skip


def test_other_commands_use_a_list_with_appended_special_tokens(build, capfd):
    """Token ids and records use [UNK], [CLS], [SEP] and [MASK] at the end of the list."""
    assert build(extend="own.txt", add_special_tokens="true").code == 0
    assert tokenize_main(["the cats Zebra", "--vocab_file=vocab.txt", "--format=jsonl"]) == 0
    assert json.loads(capfd.readouterr().out)["input_ids"] == [6, 1, 0, 3, 5, 7]
    assert create_main([*RECORD_FLAGS, "--output_file=records", "--dupe_factor=2"]) == 0
    records = [decode_example(record) for record in read_records("records")]
    assert records
    assert all(record["input_ids"][0] == 6 for record in records)


@pytest.mark.slow  # bert-pretrain makes records like bert-create-pretraining-data, see above
def test_training_uses_a_list_with_appended_special_tokens(build, model, tmp_path):
    assert build(extend="own.txt", add_special_tokens="true").code == 0
    config = json.loads((model / "bert_config.json").read_text()) | {"vocab_size": 9}
    (tmp_path / "config.json").write_text(json.dumps(config))
    steps = ["--num_train_steps=2", "--num_warmup_steps=1", "--train_batch_size=2", "--eval_share=0"]
    trained = ["--bert_config_file=config.json", "--output_dir=out", "--do_train"]
    assert pretrain_main([*RECORD_FLAGS, *steps, *trained]) == 0
    assert tokens("out/vocab.txt") == [*OWN, *SPECIAL]


@pytest.mark.parametrize(
    ("values", "fragment"),
    [
        (
            {"extend": "own.txt", "input_file": "text.txt"},
            "own.txt: ",
        ),
        (
            {"extend": "own.txt", "add_special_tokens": "true", "input_file": "text.txt"},
            "own.txt: ",
        ),
        (
            {"extend": "own.txt", "add_special_tokens": "true", "input_file": "text.txt", "vocab_size": 8},
            "--vocab_size=8",
        ),
        (
            {"extend": "own.txt", "add_special_tokens": "true", "output_file": "own.txt"},
            "own.txt: ",
        ),
        (
            {"extend": "empty.txt", "add_special_tokens": "true"},
            "empty.txt: ",
        ),
        (
            {"input_file": "text.txt", "algorithm": "words", "min_count": 9},
            "--min_count",
        ),
        (
            {"input_file": "text.txt", "algorithm": "words", "vocab_size": 5},
            "--vocab_size=5",
        ),
        (
            {"input_file": "text.txt", "algorithm": "bpe"},
            "--algorithm=bpe: ",
        ),
    ],
)
def test_errors_are_one_line_and_write_nothing(build, tmp_path, values, fragment):
    (tmp_path / "empty.txt").write_text("")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    outcome = build(**values)
    outcome.assert_refused(fragment)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
