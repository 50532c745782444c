"""Questions as a table or as JSON values, from files and from memory."""

from bert_cli.examples.squad.source import QuestionSource
from bert_cli.reading.frames import Frame
from bert_cli.reading.probe import TableFile


def test_the_name_of_a_file_decides(tmp_path):
    (tmp_path / "q.csv").write_text("question,context\nWho?,Ann.\n")
    assert QuestionSource(str(tmp_path / "q.csv")).table() is not None
    (tmp_path / "q.json").write_text('{"data": []}')
    source = QuestionSource(str(tmp_path / "q.json"))
    assert source.table() is None
    assert source.document().root == {"data": []}


def test_questions_in_memory_are_not_files():
    table = TableFile("train.csv", Frame(("question",), []))
    assert QuestionSource("train.csv", contents=table).table() is table
    source = QuestionSource("train.csv", contents={"data": []})
    assert source.table() is None
    assert source.document().root == {"data": []}
