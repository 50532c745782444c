"""Predictions in the format of the annotation tool that the texts came from."""

import json
import pathlib
import tempfile

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bert_cli.examples.annotations.reading import read_annotations
from bert_cli.outputs.annotations import write_annotations
from bert_cli.outputs.tagging import TagPrediction
from tests.annotated_texts import FORMATS, annotated_texts, write

TEXT = "Anna,\r\n😀 left New\nYork"
SPANS = [(0, 4, "PER"), (14, 22, "LOC")]


def predicted(tags):
    return TagPrediction(tuple(tags), np.full(len(tags), 0.5, np.float32), np.zeros((len(tags), 1), np.float32))


def predict_the_tags(folder: pathlib.Path, file) -> pathlib.Path:
    """Write what a model predicts that is always right."""
    predictions = [predicted(example.tags) for example in file.examples]
    return pathlib.Path(write_annotations(str(folder), file, predictions))


def written(folder, name, texts=((TEXT, SPANS),), tags=("B-PER", "O", "O", "O", "B-LOC", "I-LOC")):
    """What write_annotations makes of texts that are all predicted the same tags."""
    file = read_annotations(write(folder, name, texts))
    return pathlib.Path(write_annotations(str(folder), file, [predicted(tags)] * len(texts)))


def check_no_loss(name, texts):
    """The tags of a file, predicted, are the file again."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None) as folder:
        file = read_annotations(write(pathlib.Path(folder), name, texts))
        path = predict_the_tags(pathlib.Path(folder), file)
        if name == "label_studio":
            tasks = json.loads(path.read_text(encoding="utf-8"))
            found = [[region["value"] for region in task["predictions"][0]["result"]] for task in tasks]
            spans = [[(each["start"], each["end"], each["labels"][0]) for each in values] for values in found]
            assert spans == [spans for _, spans in texts]
            assert all(
                text[each["start"] : each["end"]] == each["text"]
                for (text, _), values in zip(texts, found, strict=True)
                for each in values
            )
        else:
            again = read_annotations(str(path))
            assert [(each.text, each.tags) for each in again.examples] == [
                (each.text, each.tags) for each in file.examples
            ]
            assert len(again.examples) == len(texts)


def check_drawn_texts(name, texts):
    # A text of brat is a file of its own, whose first U+FEFF is its byte order mark.
    assume(name != "brat" or not any(text.startswith("\ufeff") for text, _ in texts))
    check_no_loss(name, texts)


@pytest.mark.parametrize("text", ["é\té\n\x1f", "é\té\n\x85", "é\t\x1c\né"])
def test_words_of_controls_at_the_ends_of_a_span(text):
    check_no_loss("brat", [(text, [(2, 5, "PER")])])


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=12, deadline=None, derandomize=True, database=None)
@given(texts=st.lists(annotated_texts(), min_size=1, max_size=4))
def test_no_span_is_lost(name, texts):
    check_drawn_texts(name, texts)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=400, deadline=None, derandomize=True, database=None)
@given(texts=st.lists(annotated_texts(), min_size=4, max_size=4))
def test_no_span_is_lost_in_many_files(name, texts):
    check_drawn_texts(name, texts)


def test_doccano(tmp_path):
    path = written(tmp_path, "doccano", [(TEXT, []), (TEXT, SPANS)])
    wanted = {"id": 7, "text": TEXT, "Comments": [], "label": [list(each) for each in SPANS]}
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == [wanted, wanted]
    assert path == tmp_path / "test_predictions.jsonl"


def test_doccano_with_relations(tmp_path):
    """Entities are numbered through the file, and relations of others are gone."""
    path = written(tmp_path, "doccano_relations", [(TEXT, SPANS), (TEXT, None)])
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [entity["id"] for row in rows for entity in row["entities"]] == [1, 2, 3, 4]
    assert rows[0]["entities"][1] == {"id": 2, "start_offset": 14, "end_offset": 22, "label": "LOC"}
    assert rows[0]["relations"] == []


def test_spacy_without_spans(tmp_path):
    path = written(tmp_path, "spacy", [(TEXT, [])])
    assert json.loads(path.read_text(encoding="utf-8")) == {"text": TEXT, "entities": [list(each) for each in SPANS]}


def test_prodigy(tmp_path):
    """A task that a person is to review: its answer and the hash of its old spans are gone."""
    tokens = [{"text": "Anna", "start": 0, "end": 4, "id": 0}, {"text": "New", "start": 14, "end": 17, "id": 5}]
    record = {"text": TEXT, "_input_hash": 1, "_task_hash": 2, "answer": "accept", "spans": [], "tokens": tokens}
    (tmp_path / "a.jsonl").write_text(json.dumps(record), encoding="utf-8")
    path = predict_the_tags_of(tmp_path, "a.jsonl")
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "text": TEXT,
        "_input_hash": 1,
        "tokens": tokens,
        "spans": [
            {"start": 0, "end": 4, "label": "PER", "token_start": 0, "token_end": 0},
            {"start": 14, "end": 22, "label": "LOC"},
        ],
    }


@pytest.mark.parametrize("tokens", [5, [5], [{"start": [], "end": {}}]])
def test_prodigy_with_tokens_of_another_form(tokens, tmp_path):
    record = {"text": TEXT, "answer": "accept", "spans": [], "tokens": tokens, "meta": "\ud83d"}
    (tmp_path / "a.jsonl").write_text(json.dumps(record), encoding="utf-8")
    found = json.loads(predict_the_tags_of(tmp_path, "a.jsonl").read_text(encoding="utf-8"))
    assert (found["tokens"], found["meta"]) == (tokens, "\ud83d")
    assert found["spans"][0] == {"start": 0, "end": 4, "label": "PER"}


def predict_the_tags_of(folder, name):
    file = read_annotations(str(folder / name))
    return pathlib.Path(write_annotations(str(folder), file, [predicted(("B-PER", "O", "O", "O", "B-LOC", "I-LOC"))]))


def test_label_studio(tmp_path):
    """Annotations stay, the names are those of the project, or of Label Studio's template."""
    path = written(tmp_path, "label_studio", [(TEXT, [(0, 4, "PER")]), (TEXT, None)])
    tasks = json.loads(path.read_text(encoding="utf-8"))
    (prediction,) = tasks[1]["predictions"]
    assert (prediction["model_version"], prediction["score"]) == ("bert-tag", 0.5)
    assert prediction["result"][1] == {
        "id": "2", "from_name": "ner", "to_name": "words", "type": "labels", "score": 0.5,
        "value": {"start": 14, "end": 22, "text": "New\nYork", "labels": ["LOC"]},
    }  # fmt: skip
    assert len(tasks[0]["annotations"][0]["result"]) == 1
    assert (tasks[1]["id"], tasks[1]["meta"], tasks[1]["annotations"]) == (7, {"from": "x"}, [])
    (tmp_path / "other").mkdir()
    path = written(tmp_path / "other", "label_studio", [(TEXT, None)])
    region = json.loads(path.read_text(encoding="utf-8"))[0]["predictions"][0]["result"][0]
    assert (region["from_name"], region["to_name"]) == ("label", "text")


def test_brat(tmp_path):
    """A part for each line, and the text as it was, byte for byte; other files of the directory stay."""
    text = "\ufeff" + TEXT
    (tmp_path / "test_predictions").mkdir()
    (tmp_path / "test_predictions" / "annotation.conf").write_text("[entities]\n", encoding="utf-8")
    (tmp_path / "d.txt").write_bytes(text.encode("utf-8"))
    (tmp_path / "d.ann").write_bytes(b"")
    path = predict_the_tags_of(tmp_path, "d.txt")
    assert path == tmp_path / "test_predictions"
    assert sorted(each.name for each in path.iterdir()) == ["annotation.conf", "d.ann", "d.txt"]
    assert (path / "d.txt").read_bytes() == text.encode("utf-8")
    assert (path / "d.ann").read_bytes() == b"T1\tPER 1 5\tAnna\nT2\tLOC 15 18;19 23\tNew York\n"


@pytest.mark.parametrize("name", ["doccano", "label_studio"])
def test_offsets_come_back_in_utf16_where_they_were(name, tmp_path):
    spans = [(0, 4, "PER"), (15, 23, "LOC")]
    path = write(tmp_path, "doccano", [(TEXT, spans)])
    if name == "label_studio":
        value = {"start": 15, "end": 23, "text": "New\\nYork", "labels": ["LOC"]}
        path = str(tmp_path / "a.json")
        tasks = [{"data": {"text": TEXT}, "annotations": [{"result": [{"value": value}]}]}]
        (tmp_path / "a.json").write_text(json.dumps(tasks), encoding="utf-8")
    file = read_annotations(path)
    assert file.is_utf16
    assert file.examples[0].tags[4:] == ("B-LOC", "I-LOC")
    found = predict_the_tags(tmp_path, file).read_text(encoding="utf-8")
    if name == "doccano":
        assert json.loads(found)["label"] == [list(each) for each in spans]
    else:
        assert json.loads(found)[0]["predictions"][0]["result"][0]["value"] == value | {"text": "New\nYork"}
