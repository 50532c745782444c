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
        if name in ("label_studio", "label_studio_min"):
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


ROW = [list(span) for span in SPANS]


@pytest.mark.parametrize(
    "text", ['[["TEXT", {}],\n ["TEXT", {"entities": []}]]', '["TEXT", {}]\n["TEXT", {"entities": []}]']
)
def test_pairs_of_spacy(text, tmp_path):
    (tmp_path / "a.json").write_text(text.replace('"TEXT"', json.dumps(TEXT)), encoding="utf-8")
    path = predict_the_tags_of(tmp_path, "a.json")
    assert path == tmp_path / "test_predictions.json"
    assert json.loads(path.read_text(encoding="utf-8")) == [[TEXT, {"entities": ROW}]] * 2


def test_the_document_of_the_ner_annotator(tmp_path):
    """Classes are complete, and texts that were skipped stay at their index."""
    pairs = [None, [TEXT, {"entities": []}], None]
    (tmp_path / "a.json").write_text(json.dumps({"classes": ["ORG", "PER"], "annotations": pairs}), encoding="utf-8")
    found = json.loads(predict_the_tags_of(tmp_path, "a.json").read_text(encoding="utf-8"))
    assert found == {"classes": ["ORG", "PER", "LOC"], "annotations": [None, [TEXT, {"entities": ROW}], None]}


def test_label_ids_of_doccano(tmp_path):
    record = {"text": "a b c", "annotations": [{"label": 12, "start_offset": 0, "end_offset": 1, "user": 3}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(record), encoding="utf-8")
    file = read_annotations(str(tmp_path / "a.jsonl"))
    path = pathlib.Path(write_annotations(str(tmp_path), file, [predicted(("B-12", "B-X", "B-012"))]))
    labels = [span["label"] for span in json.loads(path.read_text(encoding="utf-8"))["annotations"]]
    assert labels == [12, "X", "012"]


def test_dataturks(tmp_path):
    path = written(tmp_path, "dataturks", [(TEXT, None)])
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "content": TEXT,
        "extras": None,
        "annotation": [
            {"label": ["PER"], "points": [{"start": 0, "end": 3, "text": "Anna"}]},
            {"label": ["LOC"], "points": [{"start": 14, "end": 21, "text": "New\nYork"}]},
        ],
    }


def test_records_of_an_array_become_json_lines(tmp_path):
    records = [{"text": TEXT, "label": []}, {"label": [[0, 4, "PER"]], "text": TEXT}]
    (tmp_path / "a.json").write_text(json.dumps({"data": records}, indent=1), encoding="utf-8")
    path = predict_the_tags_of(tmp_path, "a.json", 2)
    assert path == tmp_path / "test_predictions.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows == [{"text": TEXT, "label": ROW}] * 2


@pytest.mark.parametrize("layout", ["lines", "single"])
def test_tasks_of_label_studio_in_other_layouts(layout, tmp_path):
    task = {"data": {"mail": TEXT}, "completions": []}
    text = json.dumps(task, indent=1) if layout == "single" else f"{json.dumps(task)}\n\n{json.dumps(task)}"
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    path = predict_the_tags_of(tmp_path, "a.json", 1 if layout == "single" else 2)
    tasks = json.loads(path.read_text(encoding="utf-8"))
    assert [len(task["predictions"][0]["result"]) for task in tasks] == ([2] if layout == "single" else [2, 2])


def test_the_smaller_export_of_label_studio_becomes_tasks(tmp_path):
    record = {"id": 3, "mail": TEXT, "ner": [{"start": 0, "end": 4, "labels": ["PER"]}], "lead_time": 1.5}
    (tmp_path / "a.json").write_text(json.dumps([record, record]), encoding="utf-8")
    (task,) = json.loads(predict_the_tags_of(tmp_path, "a.json").read_text(encoding="utf-8"))
    assert (task["id"], task["data"], len(task["annotations"])) == (3, {"mail": TEXT}, 1)
    assert [region["from_name"] for region in task["predictions"][0]["result"]] == ["ner", "ner"]


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


def predict_the_tags_of(folder, name, count=None):
    """Return the path of what write_annotations makes of a file of `count` times TEXT."""
    file = read_annotations(str(folder / name))
    tags = predicted(("B-PER", "O", "O", "O", "B-LOC", "I-LOC"))
    return pathlib.Path(write_annotations(str(folder), file, [tags] * (count or len(file.examples))))


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
