"""Files with predicted tags."""

import pytest

from bert_cli.examples.token_files.columns import read_column_file
from bert_cli.examples.token_files.flags import TokenFlags
from bert_cli.examples.token_files.json_records import read_json_records
from bert_cli.examples.token_files.notation import TagNotation
from bert_cli.examples.token_files.reading import read_token_file
from bert_cli.outputs.eval_examples import ENTITY_COUNTS
from bert_cli.outputs.tagging import tagging_examples, write_columns, write_json_lines
from bert_cli.reading.source import Source
from tests.examples.token_files.files import write


@pytest.mark.parametrize(
    ("text", "tags", "notation", "expected"),
    [
        ("a O\nb  O\n\nc O\n", ["B-x I-x", "O"], TagNotation(), "a O B-x\nb  O I-x\n\nc O O\n"),
        ("a\tO\nb\tO", ["B-x I-x"], TagNotation("IOB1"), "a\tO\tI-x\nb\tO\tI-x"),
        ("a\tO\r\n\t\r\nb O \r\n", ["B-x", "B-x"], TagNotation("BIOES"), "a\tO\tS-x\r\n\t\r\nb O S-x\r\n"),
        ("-DOCSTART- -X- O\n\n\na X O\n\n", ["B-x"], TagNotation("IO"), "-DOCSTART- -X- O O\n\n\na X O x\n\n"),
        ("a O\n-DOCSTART-\tO\nb O\n", ["O", "I-x"], TagNotation(), "a O O\n-DOCSTART-\tO\tO\nb O I-x\n"),
        ("a 0\nb 0\n\n-DOCSTART- 0\n", ["B-x O"], TagNotation("IO", "0"), "a 0 x\nb 0 0\n\n-DOCSTART- 0 0\n"),
        ("a O\nb O\nc O\n", ["B-x I-x O"], TagNotation("BMES"), "a O B-x\nb O E-x\nc O O\n"),
        ("a _\nb _\nc _\n", ["B-x I-x I-x"], TagNotation("BILOU", "_", "PER_b"), "a _ x_b\nb _ x_i\nc _ x_l\n"),
    ],
)
def test_predicted_column(tmp_path, text, tags, notation, expected):
    file = read_column_file(Source(write(tmp_path, text)))
    out = tmp_path / "out.txt"
    write_columns(str(out), file, [line.split() for line in tags], notation)
    assert out.read_bytes().decode() == expected


def test_headers_comments_and_rows_without_a_word_are_kept(tmp_path):
    text = "# text = x\nid\tform\tner\n1-2\tab\t_\n1\ta\tO\n2\tb\tO\n"
    file = read_column_file(Source(write(tmp_path, text)))
    out = tmp_path / "out.txt"
    write_columns(str(out), file, [("B-x", "I-x")], TagNotation())
    assert out.read_text() == ("# text = x\nid\tform\tner\tpredicted_tag\n1-2\tab\t_\t_\n1\ta\tO\tB-x\n2\tb\tO\tI-x\n")


def test_a_table_becomes_rows_with_tabs(tmp_path):
    text = 'Sentence #,Word,Tag\nSentence: 1,a,O\n,"b, c",O\nSentence: 2,"d\ne",O\n'
    file = read_token_file(Source(write(tmp_path, text, "a.csv")))
    out = tmp_path / "out.txt"
    write_columns(str(out), file, [("B-x", "I-x"), ("O",)], TagNotation())
    assert out.read_text() == (
        "Sentence #\tWord\tTag\tpredicted_tag\nSentence: 1\ta\tO\tB-x\n\tb, c\tO\tI-x\nSentence: 2\td e\tO\tO"
    )


def test_a_missing_tag_is_refused(tmp_path):
    file = read_column_file(Source(write(tmp_path, "\na O\nb O\n")))
    with pytest.raises(ValueError, match="line 2: 1 tags for 2 words"):
        write_columns(str(tmp_path / "out.txt"), file, [("O",)], TagNotation())
    assert not (tmp_path / "out.txt").exists()


def test_predicted_tags_in_json_lines(tmp_path):
    text = '{"id": 1, "words": ["é", "b"], "tags": ["O", "O"]}\n\n{"words": []}\n'
    file = read_json_records(Source(write(tmp_path, text, "a.jsonl")), TokenFlags(with_tags=False))
    out = tmp_path / "out.jsonl"
    write_json_lines(str(out), file, [("B-x", "I-x"), ()], TagNotation("BIOES"))
    assert out.read_text(encoding="utf-8") == (
        '{"id": 1, "words": ["é", "b"], "tags": ["O", "O"], "predicted_tags": ["B-x", "E-x"]}\n'
        '{"words": [], "predicted_tags": []}\n'
    )


def test_examples_have_sentences_with_entities():
    words = [["Anna", "runs"], ["It", "rains"], ["Bo"], ["x"] * 200]
    gold = [["B-PER", "O"], ["O", "O"], ["B-PER"], ["B-PER"] * 200]
    kept = tagging_examples(words, gold, [["O", "O"], ["O", "O"], ["B-PER"], ["O"] * 200])
    assert kept.head == {"kind": "tagging", "rows": 4}
    counts = [tuple(row[name] for name in ENTITY_COUNTS) for row in kept.rows]
    assert counts == [(1, 0, 0), (0, 0, 0), (1, 1, 1), (200, 0, 0)]
    assert [{name: value for name, value in row.items() if name not in ENTITY_COUNTS} for row in kept.rows] == [
        {"row": 0, "words": ["Anna", "runs"], "gold": ["B-PER", "O"], "predicted": ["O", "O"]},
        {"row": 1},
        {"row": 2, "words": ["Bo"], "gold": ["B-PER"], "predicted": ["B-PER"]},
        {"row": 3},
    ]
