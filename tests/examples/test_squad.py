"""Questions and where their answers stand: cases to check by hand, every kind of broken file, and real data."""

import json
import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.base.errors import InputError
from bert_cli.examples.squad import (
    describe_examples,
    parse_questions,
    read_examples,
    read_gold_answers,
    read_training_examples,
    split_context,
)

CONTEXT = "Ann Lee was  born (1895)."  # words: Ann Lee was born (1895).


def question(qas_id="q1", *answers, **fields):
    found = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": qas_id, "question": "When?", "answers": found, **fields}


def squad_file(tmp_path, *questions, context=CONTEXT):
    path = tmp_path / "some.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [{"context": context, "qas": list(questions)}]}]}))
    return str(path)


def train(tmp_path, *questions, context=CONTEXT, **rules):
    return read_training_examples(squad_file(tmp_path, *questions, context=context), **rules)


def positions(training):
    return [(example.start_position, example.end_position) for example in training]


def error_of(function, *args, **kwargs):
    with pytest.raises(InputError) as caught:
        function(*args, **kwargs)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_words():
    paragraph = split_context(" a\u00a0b c\u202fd\r\n\te\u3000f ")
    assert paragraph.doc_tokens == ("a\u00a0b", "c", "d", "e\u3000f")
    assert paragraph.token_starts == (1, 5, 7, 11)


@settings(derandomize=True, deadline=None)
@given(st.text(alphabet="ab \t\n\u202f\u00a0\x85é"))
def test_words_stand_where_they_are_said_to(context):
    paragraph = split_context(context)
    pieces = context.replace("\u202f", " ").replace("\t", " ").replace("\n", " ").split(" ")
    assert list(paragraph.doc_tokens) == [piece for piece in pieces if piece]
    for word, start in zip(paragraph.doc_tokens, paragraph.token_starts, strict=True):
        assert context[start : start + len(word)] == word


def test_questions_to_predict(tmp_path):
    path = squad_file(tmp_path, question("q1"), {"id": 7, "question": ""})
    first, second = read_examples(path)
    assert (first.qas_id, first.question, first.paragraph.context) == ("q1", "When?", CONTEXT)
    assert first.paragraph.doc_tokens == ("Ann", "Lee", "was", "born", "(1895).")
    assert (first.answer_text, first.start_position, first.is_impossible) == (None, None, False)
    assert (second.qas_id, second.question) == ("7", "")
    assert first.paragraph is second.paragraph
    assert describe_examples([first, second]) == "2 questions about 1 contexts"


@pytest.mark.parametrize("context", ["", " \n"])
def test_empty_context(tmp_path, context):
    examples = read_examples(squad_file(tmp_path, question(), context=context))
    assert examples[0].paragraph.doc_tokens == ()
    assert describe_examples(examples) == "1 questions about 1 contexts; 1 contexts hold no word"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (("Ann", 0), (0, 0)),
        (("Ann Lee", 0), (0, 1)),
        (("was  born", 8), (2, 3)),
        (("1895", 19), (4, 4)),
        (("n Lee w", 2), (0, 2)),
        ((" was born", 7), (1, 3)),  # begins behind Lee; ends before the n, as the context has a blank more
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
        (("Ann\u00a0Lee", 0), None),  # the words of the answer are cut at U+00A0, those of the context are not
        (("", 4), None),
        (("  ", 11), None),
        (("Ann", -1), None),
        (("Ann", 400), None),
        (("(1895).!", 18), None),
    ],
)
def test_answers_that_cannot_be_found_are_left_out(tmp_path, caplog, answer, actual):
    with caplog.at_level(logging.WARNING, "bert_cli"):
        context = CONTEXT.replace(" Lee", "\u00a0Lee") if "\u00a0" in answer[0] else CONTEXT
        training = train(tmp_path, question("q", ("was", 8)), question("x", answer), context=context)
    assert [example.qas_id for example in training] == ["q"]
    messages = [record.getMessage() for record in caplog.records]
    assert messages[-1].endswith("left out 1 answer(s) that are not at their answer_start")
    assert messages[0].startswith("Could not find answer: '")
    if actual is not None:
        assert messages[0] == f"Could not find answer: '{actual}' vs. '{answer[0]}'"


def test_no_answer_at_all_is_found(tmp_path):
    message = error_of(train, tmp_path, question("q", ("1895", 3)))
    assert "none of its 1 answers is at its answer_start" in message


def test_impossible_questions(tmp_path):
    questions = question("q1", is_impossible=True), question("q2", ("Lee", 4), is_impossible=False)
    first, second = train(tmp_path, *questions, version_2_with_negative=True)
    assert (first.is_impossible, first.answer_text, first.start_position, first.end_position) == (True, "", -1, -1)
    assert (second.is_impossible, second.answer_text, second.start_position) == (False, "Lee", 1)
    assert describe_examples([first, second]) == "2 questions about 1 contexts, 1 of them impossible"


SEVERAL = question("q1", ("Ann", 0), ("Ann Lee", 0), ("Ann", 0))


def test_several_answers(tmp_path):
    assert positions(train(tmp_path, SEVERAL, multiple_answers="first")) == [(0, 0)]
    assert positions(train(tmp_path, SEVERAL, multiple_answers="all")) == [(0, 0), (0, 1)]
    with pytest.raises(ValueError, match="last"):
        train(tmp_path, SEVERAL, multiple_answers="last")


@pytest.mark.parametrize(
    ("given", "version_2", "expected"),
    [
        (
            SEVERAL,
            False,
            "qas[0]: has 3 answers, training takes one (is this a dev file?); give --multiple_answers=first",
        ),
        (question(is_impossible=True), False, "so this is SQuAD 2.0 data; give --version_2_with_negative"),
        (question(), False, 'has no answer; training needs one, or "is_impossible": true together with --version_2'),
        (question(is_impossible=False), True, "has no answer; training needs one"),
        (question("q", ("Ann", 0)), True, 'has no "is_impossible", which --version_2_with_negative needs'),
        (question("q", is_impossible="no"), True, "is_impossible: is a string, true or false is needed"),
        ({"id": "q", "question": "?"}, False, 'qas[0]: has no "answers"; an answer is {'),
        ({"id": "q", "question": "?", "answers": None}, False, "qas[0].answers: is null, an array is needed"),
        ({"id": "q", "question": "?", "answers": ["Ann"]}, False, "answers[0]: is a string, an object is needed"),
        ({"id": "q", "question": "?", "answers": [{"text": "Ann"}]}, False, 'answers[0]: has no "answer_start"'),
        (question("q", ("Ann", 0.5)), False, "answer_start: is a number, a whole number is needed"),
        (question("q", ("Ann", True)), False, "answer_start: is true or false, a whole number is needed"),
    ],
)
def test_questions_that_cannot_be_learnt(tmp_path, given, version_2, expected):
    message = error_of(train, tmp_path, given, version_2_with_negative=version_2)
    assert "some.json: data[0].paragraphs[0].qas[0]" in message
    assert expected in message


def test_data_of_2_0_without_impossible_questions_needs_no_flag(tmp_path):
    assert positions(train(tmp_path, question("q", ("Ann", 0), is_impossible=False))) == [(0, 0)]


def test_repeated_id(tmp_path, caplog):
    path = squad_file(tmp_path, question("q", ("Ann", 0)), question("q", ("Lee", 4)))
    expected = "qas[1]: the id 'q' is also the id of"
    for read in (read_examples, read_gold_answers):
        message = error_of(read, path)
        assert expected in message
        assert message.count("data[0].paragraphs[0].qas[") == 2
    training = read_training_examples(path)
    assert len(training) == 2
    assert caplog.records[-1].getMessage().endswith("1 question(s) have the id of an earlier one")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"data": [\n{"paragraphs": [}]}', ":2: is not JSON: "),
        ("", ":1: is not JSON: "),
        ("[" * 100_000, ":1: cannot be read as JSON: "),
        ('{"data": ' + "1" * 5000 + "}", ":1: cannot be read as JSON: "),
        ("[]", ": is an array, an object is needed; a SQuAD file is"),
        ("{}", ': has no "data"; a SQuAD file is'),
        ('{"data": {}}', ".data: is an object, an array is needed"),
        ('{"data": []}', ": holds no question; a SQuAD file is"),
        ('{"data": [3]}', ": data[0]: is a number, an object is needed"),
        ('{"data": [{}]}', ': data[0]: has no "paragraphs"'),
        ('{"data": [{"paragraphs": [{}]}]}', ': data[0].paragraphs[0]: has no "context"'),
        ('{"data": [{"paragraphs": [{"context": "a"}]}]}', ': data[0].paragraphs[0]: has no "qas"'),
        ('{"data": [{"paragraphs": [{"context": "a", "qas": [{}]}]}]}', ': qas[0]: has no "question"'),
        ('{"data": [{"paragraphs": [{"context": "a", "qas": [{"question": "b"}]}]}]}', "qas[0].id: is null"),
    ],
)
@pytest.mark.parametrize("read", [read_examples, read_training_examples, read_gold_answers])
def test_files_of_another_layout(tmp_path, read, text, expected):
    path = tmp_path / "bad.json"
    path.write_text(text)
    message = error_of(read, str(path))
    assert message.startswith(str(path))
    assert expected.replace(": qas", ".qas") in message


def test_lines_of_questions():
    lines = ['{"id": "a", "question": "Who?", "context": "Ann  did."}\n', "\n", '{"question": "", "context": ""}\n']
    first, second = parse_questions(lines, "stdin")
    assert (first.qas_id, first.question, first.paragraph.doc_tokens) == ("a", "Who?", ("Ann", "did."))
    assert (second.qas_id, second.paragraph.doc_tokens) == ("3", ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n{", ":2: is not JSON: "),
        ("3", ":1: is a number, an object is needed; each line is"),
        ('{"question": "a"}', ':1: has no "context"; each line is'),
        ('{"question": 1, "context": "b"}', ":1.question: is a number, a string is needed"),
        ('{"id": null, "question": "a", "context": "b"}', ":1.id: is null, a string is needed"),
        ('{"id": "1", "question": "a", "context": "b"}\n' * 2, ":2: the id '1' is also the id of"),
    ],
)
def test_lines_that_are_no_questions(text, expected):
    message = error_of(lambda: list(parse_questions(text.split("\n"), "lines.jsonl")))
    assert message.startswith(f"lines.jsonl{expected}")


def test_gold_answers(tmp_path):
    unanswered = {"id": "q3", "question": "?", "is_impossible": True}
    path = squad_file(tmp_path, question("q1", ("Ann", 0), ("Lee", 4)), question("q2"), unanswered)
    assert read_gold_answers(path) == {"q1": ("Ann", "Lee"), "q2": (), "q3": ()}


def test_real_training_data(shared, caplog):
    path = str(shared / "data/squad/train-v1.1.json")
    training = read_training_examples(path)
    assert len(training) == 5397
    assert not caplog.records
    for example in training[:200]:
        words = " ".join(example.paragraph.doc_tokens[example.start_position : example.end_position + 1])
        assert " ".join(example.answer_text.split()) in words
    v2 = read_training_examples(str(shared / "data/squad/sample-v2.0.json"), True, "first")
    assert (len(v2), sum(example.is_impossible for example in v2)) == (1160, 579)
