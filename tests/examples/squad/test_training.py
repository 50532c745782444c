"""Training examples from SQuAD files: answer positions and impossible questions."""

import logging

import pytest

from bert_cli.examples.squad.records import describe_questions
from bert_cli.examples.squad.source import QuestionSource
from bert_cli.examples.squad.training import read_training_examples
from bert_cli.reading.rows import LeftOutRows
from tests.input_errors import error_of
from tests.snapshots import check_message
from tests.squad_files import CONTEXT, question, squad_file


def train(tmp_path, *questions, context=CONTEXT, **rules):
    return read_training_examples(QuestionSource(squad_file(tmp_path, *questions, context=context)), **rules).examples


def positions(training):
    return [(example.start_position, example.end_position) for example in training]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (("Ann", 0), (0, 0)),
        (("Ann Lee", 0), (0, 1)),
        (("was  born", 8), (2, 3)),
        (("1895", 19), (4, 4)),
        (("n Lee w", 2), (0, 2)),
        (
            (" was born", 7),
            (1, 3),
        ),  # begins after Lee and ends before the n, because the context has an additional space
        ((" (1895).", 17), (3, 4)),
        (("(1895).", 18), (4, 4)),
    ],
)
def test_answers_are_found(tmp_path, caplog, answer, words):
    training = train(tmp_path, question("q", ("Ann", 0)), question("x", answer))
    assert positions(training)[1:] == [words]
    assert not caplog.records


@pytest.mark.parametrize(
    ("answer", "actual"),
    [
        (("1896", 19), "(1895)."),
        (("Lee", 0), "Ann"),
        (("Ann\u00a0Lee", 0), None),  # U+00A0 separates words in answers, but not in contexts
        (("", 4), None),
        (("  ", 11), None),
        (("Ann", -1), None),
        (("Ann", 400), None),
        (("(1895).!", 18), None),
    ],
)
def test_answers_at_wrong_positions_are_skipped(tmp_path, caplog, answer, actual):
    with caplog.at_level(logging.WARNING, "bert_cli"):
        context = CONTEXT.replace(" Lee", "\u00a0Lee") if "\u00a0" in answer[0] else CONTEXT
        path = squad_file(tmp_path, question("q", ("was", 8)), question("x", answer), context=context)
        training = read_training_examples(QuestionSource(path))
    assert [example.qas_id for example in training.examples] == ["q"]
    messages = [record.getMessage() for record in caplog.records]
    assert training.facts.num_rows == 1
    assert training.facts.left_out == [LeftOutRows("answers that are not at their answer_start", 1)]
    assert messages[0].startswith("Could not find answer: '")
    if actual is not None:
        check_message(messages[0], f"'{actual}'")


@pytest.mark.parametrize(
    ("context", "counted_context", "description"),
    [
        ("The mill\r\nis old.\r\nAnn Lee\r\nwas born", "The mill\nis old.\nAnn Lee\nwas born", "CR LF as one"),
        ("The mill\ris old.\rAnn Lee\rwas born", "The millis old.Ann Leewas born", "without carriage returns"),
        ("The mill\nis old.\nAnn Lee\nwas born", "The mill\r\nis old.\r\nAnn Lee\r\nwas born", "feed as CR LF"),
        ("The 😀 mill is old. Ann Lee was born", "The xx mill is old. Ann Lee was born", "UTF-16 code units"),
        ("Ä mill is old. Ann Lee was born", "xx mill is old. Ann Lee was born", "UTF-8 bytes"),
        ("The mill\r\nis old.\r\nAnn Lee\r\nwas born", "The mill\r\nis old.\r\nAnn Lee\r\nwas born", ""),
    ],
)
def test_units_of_answer_start(tmp_path, caplog, context, counted_context, description):
    """An answer that crosses a line end may have either line end."""
    caplog.set_level(logging.INFO, "bert_cli")
    texts = ["Ann Lee", "old.", counted_context[counted_context.index("Lee") :], "was"]
    questions = [question(f"q{i}", (text, counted_context.index(text))) for i, text in enumerate(texts)]
    words = context.split()
    first = words.index("Ann")
    expected = [(first, first + 1), (first - 1, first - 1), (first + 1, first + 3), (first + 2, first + 2)]
    if description == "without carriage returns":  # "Leewas" is no text of the context
        del questions[2], expected[2]
    assert positions(train(tmp_path, *questions, context=context)) == expected
    assert ("answer_start is read as offsets" in caplog.text) == bool(description)
    assert description in caplog.text
    assert [record.levelname for record in caplog.records] == ["INFO"] * bool(description)


def test_file_without_correct_positions(tmp_path):
    check_message(error_of(train, tmp_path, question("q", ("1895", 3))), "1 answers")


def test_impossible_questions(tmp_path):
    questions = question("q1", is_impossible=True), question("q2", ("Lee", 4), is_impossible=False)
    first, second = train(tmp_path, *questions, version_2_with_negative=True)
    assert (first.is_impossible, first.answer_text, first.start_position, first.end_position) == (True, "", -1, -1)
    assert (second.is_impossible, second.answer_text, second.start_position) == (False, "Lee", 1)
    assert describe_questions([first, second]) == "2 questions about 1 contexts, 1 of them impossible"


SEVERAL = question("q1", ("Ann", 0), ("Ann Lee", 0), ("Ann", 0))


def test_several_answers(tmp_path):
    assert positions(train(tmp_path, SEVERAL, multiple_answers="first")) == [(0, 0)]
    assert positions(train(tmp_path, SEVERAL, multiple_answers="all")) == [(0, 0), (0, 1)]
    with pytest.raises(ValueError, match="last"):
        train(tmp_path, SEVERAL, multiple_answers="last")


@pytest.mark.parametrize(
    ("entry", "version_2", "fragment"),
    [
        (SEVERAL, False, "qas[0]: "),
        (question(is_impossible=True), False, "--version_2_with_negative"),
        (question(), False, "--version_2"),
        (question(is_impossible=False), True, ""),
        (question("q", is_impossible=2), False, "is_impossible: "),
        (question("q", is_impossible="no"), True, "is_impossible: "),
        ({"id": "q", "question": "?"}, False, "qas[0]: "),
        ({"id": "q", "question": "?", "answers": None}, False, "qas[0].answers: "),
        ({"id": "q", "question": "?", "answers": ["Ann"]}, False, "answers[0]: "),
        ({"id": "q", "question": "?", "answers": [{"answer_start": 0}]}, False, "answers[0]: "),
        (question("q", ("Ann", 0.5)), False, "answer_start: "),
        (question("q", ("Ann", True)), False, "answer_start: "),
    ],
)
def test_invalid_training_questions(tmp_path, entry, version_2, fragment):
    check_message(error_of(train, tmp_path, entry, version_2_with_negative=version_2), "some.json: ", fragment)


def test_squad_2_without_impossible_questions_needs_no_flag(tmp_path):
    assert positions(train(tmp_path, question("q", ("Ann", 0), is_impossible=False))) == [(0, 0)]


def test_a_repeated_id_is_counted(tmp_path, caplog):
    training = train(tmp_path, question("q", ("Ann", 0)), question("q", ("Lee", 4)))
    assert len(training) == 2
    assert caplog.records[-1].getMessage().endswith("1 question(s) have the id of an earlier one")


def impossible_and_log(tmp_path, caplog, *questions, **rules):
    """Return whether each training question is impossible, and the log lines."""
    with caplog.at_level(logging.INFO, "bert_cli"):
        training = train(tmp_path, *questions, version_2_with_negative=True, **rules)
    return [example.is_impossible for example in training], [record.getMessage() for record in caplog.records]


def test_unmarked_question_is_impossible_if_it_has_no_answer(tmp_path, caplog):
    questions = (
        question("q1", is_impossible=True),
        question("q2", ("Ann", 0)),
        question("q3"),
        question("q4", ("Lee", 4)),
    )
    impossible, lines = impossible_and_log(tmp_path, caplog, *questions)
    assert impossible == [True, False, True, False]
    (line,) = lines
    check_message(line, "3 of")


def test_squad_2_without_the_flag_is_refused(tmp_path):
    check_message(error_of(train, tmp_path, question("q2", ("Ann", 0)), question("q1", is_impossible=True)), "qas[1]: ")


def test_null_is_impossible_means_answerable(tmp_path, caplog):
    questions = question("q1", is_impossible=True), question("q2", ("Ann", 0), is_impossible=None)
    assert impossible_and_log(tmp_path, caplog, *questions)[0] == [True, False]
    assert positions(train(tmp_path, question("q2", ("Ann", 0), is_impossible=None))) == [(0, 0)]


@pytest.mark.parametrize(("yes", "no"), [(1, 0), ("true", "false"), ("True", "False"), ("1", "0")])
def test_numbers_and_texts_mark_questions(tmp_path, caplog, yes, no):
    questions = question("q1", is_impossible=yes), question("q2", ("Ann", 0), is_impossible=no)
    assert impossible_and_log(tmp_path, caplog, *questions)[0] == [True, False]
    assert positions(train(tmp_path, question("q2", ("Ann", 0), is_impossible=no))) == [(0, 0)]
    assert "give --version_2_with_negative" in error_of(train, tmp_path, question("q1", is_impossible=yes))


def test_squad_1_with_the_flag_has_a_warning(tmp_path, caplog):
    impossible, lines = impossible_and_log(tmp_path, caplog, question("q1", ("Ann", 0)), question("q2", ("Lee", 4)))
    assert impossible == [False, False]
    check_message(lines[-1], "--version_2_with_negative")


def test_an_impossible_question_needs_no_answers(tmp_path, caplog):
    plausible = {"id": "q1", "question": "?", "is_impossible": True, "plausible_answers": [{"text": "x"}]}
    null = {"id": "q2", "question": "?", "is_impossible": True, "answers": None}
    assert impossible_and_log(tmp_path, caplog, plausible, null) == ([True, True], [])


@pytest.mark.parametrize("fields", [{}, {"answers": None}, {"plausible_answers": [{"text": "Ann", "answer_start": 0}]}])
@pytest.mark.parametrize("version_2", [False, True])
def test_missing_answers_are_not_guessed(tmp_path, fields, version_2):
    message = error_of(train, tmp_path, {"id": "q", "question": "?", **fields}, version_2_with_negative=version_2)
    assert "qas[0]" in message
    check_message(message)


def test_training_needs_no_ids(tmp_path, caplog):
    questions = [question(None, ("Ann", 0)), question("q", ("Lee", 4)), question(None, ("was", 8))]
    del questions[2]["id"]
    with caplog.at_level(logging.INFO, "bert_cli"):
        training = train(tmp_path, *questions)
    assert [example.qas_id for example in training] == ["question-1", "q", "question-3"]
    (line,) = [record.getMessage() for record in caplog.records]
    check_message(line, "2 of")


def test_real_training_data(shared, caplog):
    path = str(shared / "data/squad/train-v1.1.json")
    training = read_training_examples(QuestionSource(path)).examples
    assert len(training) == 5397
    assert not caplog.records
    for example in training[:200]:
        words = " ".join(example.paragraph.doc_tokens[example.start_position : example.end_position + 1])
        assert " ".join(example.answer_text.split()) in words
    v2 = read_training_examples(QuestionSource(str(shared / "data/squad/sample-v2.0.json")), True, "first").examples
    assert (len(v2), sum(example.is_impossible for example in v2)) == (1160, 579)
