"""bert-build-vocab as a user calls it: small and real texts, extended vocabularies, and errors."""

import gzip
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from bert_cli import build_vocab
from bert_cli.build_vocab import main
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary
from tests.commands import helpers
from tests.rows import write_rows
from tests.snapshots import check_message

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TEXT = """The old miller walks to the mill.
The mill stands at the river, and the river turns the wheel.

The miller's daughter walks along the river.
She sees the wheel of the mill turning.
"Is it old?" she asks.
"It is older than the river!"
"""
LETTERS = sorted(set(re.sub(r"[^a-z]", "", TEXT.lower())))
OLD = [
    *SPECIAL[:1],
    "[unused0]",
    "[unused1]",
    *SPECIAL[1:],
    "the",
    "mill",
    "##er",
    "##s",
    "r",
    "##i",
    "[unused2]",
    "##v",
]


@pytest.fixture
def build(tmp_path, monkeypatch, capfd):
    """Call the command in a directory with text.txt and old.txt, an existing vocabulary."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT)
    write_rows(tmp_path / "old.txt", OLD)

    def call(*flags, **values) -> helpers.Outcome:
        values = {"input_file": "text.txt"} | values
        return helpers.call(capfd, "bert-build-vocab", main, *flags, *helpers.words(values))

    return call


@pytest.mark.parametrize(
    ("text", "sign"),
    [("कहानी बहुत बेकार थी बहुत\n", "3 of 5 words"), ("má mà mả mã mạ ma\n", "má, mà, mả, mã, mạ become ma")],
)
def test_a_text_that_stripping_accents_damages(build, tmp_path, text, sign):
    (tmp_path / "marks.txt").write_text(text, encoding="utf-8")
    flags = {"input_file": "marks.txt", "algorithm": "words", "min_count": 1}
    log = build(**flags).err
    assert sign in log
    check_message(log, "--do_lower_case=false")
    assert "warning" not in build(do_lower_case="false", **flags).err
    assert (
        "extend the vocabulary of a cased model instead of old.txt"
        in build(input_file="marks.txt", extend="old.txt").err
    )


def tokens(path="vocab.txt") -> list[str]:
    return read_vocabulary(path).tokens


def table(lines: list[str]) -> dict[str, list[str]]:
    """Return the table at the end of the log: name -> the other columns."""
    rows = (re.split(r" {2,}", line.strip()) for line in lines)
    return {row[0]: row[1:] for row in rows if len(row) > 1}


def test_six_lines(build):
    outcome = build()
    assert outcome.code == 0
    vocabulary = tokens()
    assert vocabulary[:5] == SPECIAL
    characters = ["!", '"', "'", ",", ".", "?", *LETTERS]
    assert vocabulary[5 : 5 + len(characters)] == characters
    joined = [f"##{letter}" for letter in LETTERS]
    assert vocabulary[5 + len(characters) :][: len(LETTERS)] == joined
    learnt = vocabulary[5 + len(characters) + len(LETTERS) :]
    assert {"the", "mill", "river", "wheel", "walks", "old"} <= set(learnt)
    assert "daughter" not in learnt  # it occurs only once
    assert learnt[0] == "the"  # the most frequent
    assert len(set(vocabulary)) == len(vocabulary)
    assert "[UNK]" not in FullTokenizer(read_vocabulary("vocab.txt")).tokenize(TEXT)
    figures = table(outcome.lines)
    assert figures["words"] == [str(len(re.findall(r"\w+|[^\w\s]", TEXT)))]
    assert figures["vocabulary"] == [str(len(vocabulary))]
    assert figures["unknown words"] == ["0.000%"]
    assert outcome.lines[-1] == f"Wrote vocab.txt: {len(vocabulary)} tokens"
    assert sorted(os.listdir()) == ["old.txt", "text.txt", "vocab.txt"]


def test_the_same_text_gives_the_same_vocabulary(build, tmp_path):
    assert build().code == 0
    expected = tokens()
    assert build(output_file="two.txt", num_workers=2).code == 0
    (tmp_path / "text.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert build(output_file="three.txt", input_file="text.gz").code == 0
    assert tokens("two.txt") == tokens("three.txt") == expected


def test_vocab_size_limits_the_vocabulary_to_frequent_words(build):
    assert build(min_count=1).code == 0
    all_of_them = tokens()
    size = len(all_of_them) - 8
    assert build(min_count=1, vocab_size=size).code == 0
    assert len(tokens()) == size
    assert {"the", "river", "mill"} <= set(tokens())
    assert "[UNK]" not in FullTokenizer(read_vocabulary("vocab.txt")).tokenize(TEXT)


def test_whole_words_if_characters_do_not_fit(build, tmp_path):
    (tmp_path / "text.txt").write_text("The quick brown fox\njumps over the lazy dog\n")
    outcome = build(vocab_size=20)
    assert outcome.code == 0
    assert tokens() == [*SPECIAL, "the", "brown", "dog", "fox", "jumps", "lazy", "over", "quick"]
    assert any("no room for all characters" in line and "--vocab_size=57" in line for line in outcome.lines)
    assert build(vocab_size=12).lines[-1] == (
        "bert-build-vocab: error: --vocab_size=12 is too small for this text: its characters need 57, its whole words 13; "
        "give at least 13, or --algorithm=words"
    )


def test_casing(build, tmp_path):
    (tmp_path / "text.txt").write_text("Éva Éva\n")
    assert build(output_file="uncased.txt").code == 0
    assert tokens("uncased.txt") == [*SPECIAL, "a", "e", "v", "##a", "##e", "##v", "eva"]
    assert build(output_file="cased.txt", do_lower_case="false").code == 0
    assert tokens("cased.txt") == [*SPECIAL, "a", "v", "É", "##a", "##v", "##É", "Éva"]


def test_reserved_tokens_follow_the_special_ones(build):
    assert build(reserved_tokens="[unused0],[MASK],<br>,river").code == 0
    vocabulary = tokens()
    assert vocabulary[:8] == [*SPECIAL, "[unused0]", "<br>", "river"]
    assert vocabulary.count("river") == vocabulary.count("[MASK]") == 1


def test_all_characters_are_kept(build, tmp_path):
    """The learner keeps 1000 characters by default, and words with rarer characters would be [UNK]."""
    ideographs = "".join(map(chr, range(0x4E00, 0x4E00 + 1500)))
    (tmp_path / "text.txt").write_text(ideographs + "\n" + "word " * 5 + "x" * 60 + "ž\n", encoding="utf-8")
    assert build(do_lower_case="false").code == 0
    vocabulary = read_vocabulary("vocab.txt")
    assert FullTokenizer(vocabulary, False).tokenize(ideographs) == list(ideographs)
    assert "##ž" in vocabulary.ids  # from a word that is too long for the learner
    assert "##" + ideographs[0] not in vocabulary.ids  # it never occurs inside a word


def test_a_real_text(build, shared, tmp_path):
    with gzip.open(shared / "data" / "corpus" / "novels_sentences.txt.gz", "rt", encoding="utf-8") as file:
        (tmp_path / "text.txt").write_text("".join(next(file) for _ in range(1000)), encoding="utf-8")
    outcome = build(vocab_size=2000)
    assert outcome.code == 0
    assert len(tokens()) == 2000
    figures = table(outcome.lines)
    assert float(figures["unknown words"][0].rstrip("%")) < 0.1
    assert 1 < float(figures["pieces/word"][0]) < 1.5
    assert {"the", "and", "##ing", "##ed", "##s"} <= set(tokens())


def test_extend_keeps_ids(build):
    outcome = build(extend="old.txt")
    assert outcome.code == 0
    vocabulary = tokens()
    assert len(vocabulary) == len(OLD)
    # river: 4 × 3, as r ##i ##v ##er before; walks and wheel: 2 × 5, as all of their characters were lost
    assert (vocabulary[1], vocabulary[2], vocabulary[13]) == ("river", "walks", "wheel")
    assert all(new == old for new, old in zip(vocabulary, OLD, strict=True) if "unused" not in old)
    assert any("3 placed in 3 [unusedN], 0 added at the end" in line for line in outcome.lines)
    assert "  river walks wheel" in outcome.lines
    assert not any("embeddings" in line for line in outcome.lines)
    figures = table(outcome.lines)
    assert figures["vocabulary"] == [str(len(OLD)), f"{len(OLD)} before"]
    assert float(figures["unknown words"][0].rstrip("%")) < float(figures["unknown words"][1].split("%")[0])


def test_extend_adds_at_the_end(build):
    outcome = build(extend="old.txt", vocab_size=len(OLD) + 2, min_count=1)
    assert outcome.code == 0
    vocabulary = tokens()
    assert len(vocabulary) == len(OLD) + 2
    assert all(new == old for new, old in zip(vocabulary, OLD, strict=False) if "unused" not in old)
    assert any(
        f"bert-convert --from=MODEL --vocab_file=vocab.txt --resize_vocab={len(OLD) + 2}" in line
        for line in outcome.lines
    )


@pytest.mark.parametrize(
    ("values", "fragment"),
    [
        ({"input_file": "none*.txt"}, "'none*.txt': "),
        ({"input_file": "blank.txt"}, "--input_file"),
        (
            {"input_file": "latin1.txt"},
            "latin1.txt:2: ",
        ),
        ({"output_file": "none/vocab.txt"}, "none: "),
        ({"output_file": "text.txt"}, "text.txt: "),
        (
            {"output_file": "old.txt", "extend": "old.txt"},
            "old.txt: ",
        ),
        ({"extend": "none.txt"}, "none.txt: "),
        (
            {"extend": "text.txt", "output_file": "out.txt", "input_file": "old.txt"},
            "text.txt: ",
        ),
        (
            {"extend": "full.txt"},
            "full.txt: ",
        ),
        (
            {"extend": "old.txt", "vocab_size": 9},
            "--vocab_size=9",
        ),
        ({"reserved_tokens": "a,,b"}, "--reserved_tokens=a,,b: "),
        (
            {"vocab_size": 6, "reserved_tokens": "<br>"},
            "--vocab_size=6",
        ),
        (
            {"vocab_size": 30},
            "--vocab_size=30",
        ),
    ],
)
def test_errors_are_one_line_and_write_nothing(build, tmp_path, values, fragment):
    (tmp_path / "blank.txt").write_text("\n \n")
    (tmp_path / "latin1.txt").write_bytes(b"one\ncaf\xe9\n")
    write_rows(tmp_path / "full.txt", [*SPECIAL, "the"])
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    outcome = build(**values)
    outcome.assert_refused(fragment)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_tensorflow_is_imported_only_for_learning(build):
    calls = ["--help"], ["--input_file=text.txt", "--extend=old.txt"], ["--input_file=none.txt"]
    script = f"import sys; from bert_cli.build_vocab import main; codes = [main(flags) for flags in {calls}]"
    script += "; print(codes, 'tensorflow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[0, 0, 1] False"


def test_docstring_shows_the_printed_table(build):
    """The docstring shows the first example's table; only the seconds differ."""
    shown = table([line for line in build_vocab.__doc__.splitlines() if line.startswith("    ")])
    corpus = pathlib.Path(__file__).resolve().parents[2] / "data" / "pretraining" / "corpus.txt"
    printed = table(build(input_file=corpus, vocab_size=1000).lines)
    assert {name: row for name, row in printed.items() if name != "seconds"} == {
        name: row for name, row in shown.items() if name != "seconds"
    }
    assert len(printed) == 6


def test_words_that_are_too_long_for_the_learner(build, tmp_path):
    (tmp_path / "text.txt").write_text("ab" * 30 + "\n")
    assert build().code == 0
    assert tokens() == [*SPECIAL, "a", "b", "##a", "##b"]


def test_texts_come_from_tables_and_json(build, tmp_path):
    """The vocabulary is the same as from the texts alone."""
    sentences = TEXT.splitlines()
    assert build(output_file="plain_vocab.txt").code == 0
    records = [{"url": f"https://a.example/{number}", "body": text} for number, text in enumerate(sentences)]
    (tmp_path / "text.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    outcome = build(input_file="text.jsonl", output_file="json_vocab.txt")
    assert outcome.code == 0
    assert "text.jsonl: 6 rows: text from 'body'; not used: url" in outcome.err
    assert (tmp_path / "json_vocab.txt").read_bytes() == (tmp_path / "plain_vocab.txt").read_bytes()
    build(text_column="body").assert_refused("--text_column=body: text.txt ")
    build(header="yes").assert_refused("--header=yes: text.txt ")
