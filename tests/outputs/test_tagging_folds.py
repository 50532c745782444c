"""Cross-validation files of bert-tag, checked by hand."""

import numpy as np

from bert_cli.examples.annotations.reading import read_annotations
from bert_cli.examples.token_files.columns import read_column_file
from bert_cli.examples.token_files.json_records import read_json_records
from bert_cli.examples.token_files.notation import TagNotation
from bert_cli.outputs.answers.tagging import TagPrediction
from bert_cli.outputs.tagging_folds import (
    SuspectedWord,
    suspected_words,
    write_suspects_of_words,
    write_tagging_folds,
)
from bert_cli.reading.source import Source

TAGS = ("O", "B-x", "I-x")


def tagged(tags: str, *rows: tuple[float, ...] | None) -> TagPrediction:
    """Return a sentence's predicted tags, with probabilities of TAGS per word.

    Use None for a word without word pieces.
    """
    predicted = tuple(tags.split())
    tag_probabilities = [
        np.nan if row is None else row[TAGS.index(tag)] for tag, row in zip(predicted, rows, strict=True)
    ]
    logs = np.log([(1.0, 1.0, 1.0) if row is None else row for row in rows]).astype(np.float32)
    return TagPrediction(predicted, np.array(tag_probabilities, np.float32), logs)


# The first sentence's second word has no word pieces, so no prediction by a model.
PREDICTED = [
    tagged("B-x I-x O", (0.25, 0.5, 0.25), None, (0.5, 0.25, 0.25)),
    tagged("O B-x", (0.875, 0.125, 0.0625), (0.25, 0.625, 0.125)),
]
GIVEN = [("O", "O", "O"), ("B-x", "I-x")]


def test_suspected_words_are_sorted_by_probability():
    suspects = suspected_words(GIVEN, PREDICTED, TAGS)
    assert suspects == [SuspectedWord(1, 0, 0.125), SuspectedWord(1, 1, 0.125), SuspectedWord(0, 0, 0.25)]


def test_suspected_words_have_their_position_in_the_file(tmp_path):
    text = "\na\tO\n\u200b\tO\nb\tO\n\nc d\tB-x\ne\tI-x\n"
    (tmp_path / "train.txt").write_text(text, encoding="utf-8")
    file = read_column_file(Source(str(tmp_path / "train.txt")))
    suspects, rows = tmp_path / "suspects.tsv", tmp_path / "out_of_fold.tsv"
    assert write_suspects_of_words(str(suspects), file, PREDICTED, TAGS, TagNotation("BIOES")) == 3
    assert suspects.read_text(encoding="utf-8").splitlines() == [
        "id\tplace\tline\tgiven\tpredicted\tprobability\tword\ttext",
        "6\t1\t6\tB-x\tO\t0.125\tc d\tc d e",
        "6\t2\t7\tE-x\tS-x\t0.125\te\tc d e",
        "2\t1\t2\tO\tB-x\t0.25\ta\ta \u200b b",
    ]
    write_tagging_folds(str(rows), file, [np.array([1, 0])], PREDICTED, TagNotation())
    assert rows.read_text(encoding="utf-8").splitlines() == [
        "id\tfold\tgiven\tpredicted\ttext",
        "2\t2\tO O O\tB-x I-x O\ta \u200b b",
        "6\t1\tB-x I-x\tO B-x\tc d e",
    ]


def test_suspected_words_in_json_lines(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"words": ["c", "e"], "tags": ["B-x", "I-x"]}\n', encoding="utf-8")
    file = read_json_records(Source(str(tmp_path / "train.jsonl")))
    path = tmp_path / "suspects.tsv"
    assert write_suspects_of_words(str(path), file, PREDICTED[1:], TAGS, TagNotation()) == 2
    assert [line.split("\t")[:3] for line in path.read_text().splitlines()[1:]] == [["1", "1", "1"], ["1", "2", "1"]]


def test_suspected_words_in_brat_documents(tmp_path):
    (tmp_path / "d.txt").write_text("c\n e", encoding="utf-8")
    (tmp_path / "d.ann").write_text("T1\tx 0 1;3 4\tc e\n", encoding="utf-8")
    file = read_annotations(Source(str(tmp_path), may_be_folder=True))
    suspects, rows = tmp_path / "suspects.tsv", tmp_path / "out_of_fold.tsv"
    assert write_suspects_of_words(str(suspects), file, PREDICTED[1:], TAGS, TagNotation()) == 2
    assert [line.split("\t")[:3] for line in suspects.read_text().splitlines()[1:]] == [
        ["d", "1", "1"],
        ["d", "2", "2"],
    ]
    write_tagging_folds(str(rows), file, [np.array([0])], PREDICTED[1:], TagNotation())
    assert rows.read_text(encoding="utf-8").splitlines()[1] == "d\t1\tB-x I-x\tO B-x\tc e"
