"""Predictions in the annotation tool's own format."""

import json
import pathlib
import tempfile

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bert_cli.examples.annotations.reading import read_annotations
from bert_cli.outputs.annotations import write_annotations
from bert_cli.outputs.answers.tagging import TagPrediction
from bert_cli.reading.source import Source
from bert_cli.text.offset_units import JAVASCRIPT
from tests.annotated_texts import FORMATS, annotated_texts, write

TEXT = "Anna,\r\n😀 left New\nYork"
SPANS = [(0, 4, "PER"), (14, 22, "LOC")]


def predict_tags(tags):
    return TagPrediction(tuple(tags), np.full(len(tags), 0.5, np.float32), np.zeros((len(tags), 1), np.float32))


def write_correct_predictions(folder: pathlib.Path, file) -> pathlib.Path:
    """Write the predictions of a model that is always right."""
    predictions = [predict_tags(example.tags) for example in file.examples]
    return pathlib.Path(write_annotations(str(folder), file, predictions))


def write_same_predictions(folder, name, texts=((TEXT, SPANS),), tags=("B-PER", "O", "O", "O", "B-LOC", "I-LOC")):
    """Write the same predicted tags for all texts, and return the path."""
    file = read_annotations(Source(write(folder, name, texts), may_be_folder=True))
    return pathlib.Path(write_annotations(str(folder), file, [predict_tags(tags)] * len(texts)))


def check_no_loss(name, texts):
    """Check that a file's tags, written as predictions, give the same file."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if pathlib.Path("/dev/shm").is_dir() else None) as folder:
        file = read_annotations(Source(write(pathlib.Path(folder), name, texts), may_be_folder=True))
        path = write_correct_predictions(pathlib.Path(folder), file)
        if name in ("label_studio", "label_studio_min"):
            tasks = json.loads(path.read_text(encoding="utf-8"))
            region_values = [[region["value"] for region in task["predictions"][0]["result"]] for task in tasks]
            spans = [[(item["start"], item["end"], item["labels"][0]) for item in values] for values in region_values]
            assert spans == [spans for _, spans in texts]
            assert all(
                text[item["start"] : item["end"]] == item["text"]
                for (text, _), values in zip(texts, region_values, strict=True)
                for item in values
            )
        else:
            read_back = read_annotations(Source(str(path), may_be_folder=True))
            assert [(item.text, item.tags) for item in read_back.examples] == [
                (item.text, item.tags) for item in file.examples
            ]
            assert len(read_back.examples) == len(texts)


def check_drawn_texts(name, texts):
    # brat stores each text in a file. If the text begins with U+FEFF, it is taken for a byte order
    # mark.
    assume(name != "brat" or not any(text.startswith("\ufeff") for text, _ in texts))
    check_no_loss(name, texts)


@pytest.mark.parametrize("text", ["é\té\n\x1f", "é\té\n\x85", "é\t\x1c\né"])
def test_control_characters_at_the_ends_of_a_span(text):
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
    path = write_same_predictions(tmp_path, "doccano", [(TEXT, []), (TEXT, SPANS)])
    expected = {"id": 7, "text": TEXT, "Comments": [], "label": [list(span) for span in SPANS]}
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] == [expected, expected]
    assert path == tmp_path / "test_predictions.jsonl"


def test_doccano_with_relations(tmp_path):
    """Entities are numbered through the file, and old relations are removed."""
    path = write_same_predictions(tmp_path, "doccano_relations", [(TEXT, SPANS), (TEXT, None)])
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [entity["id"] for row in rows for entity in row["entities"]] == [1, 2, 3, 4]
    assert rows[0]["entities"][1] == {"id": 2, "start_offset": 14, "end_offset": 22, "label": "LOC"}
    assert rows[0]["relations"] == []


def test_spacy_without_spans(tmp_path):
    path = write_same_predictions(tmp_path, "spacy", [(TEXT, [])])
    assert json.loads(path.read_text(encoding="utf-8")) == {"text": TEXT, "entities": [list(span) for span in SPANS]}


ROW = [list(span) for span in SPANS]


@pytest.mark.parametrize(
    "text", ['[["TEXT", {}],\n ["TEXT", {"entities": []}]]', '["TEXT", {}]\n["TEXT", {"entities": []}]']
)
def test_spacy_pairs(text, tmp_path):
    (tmp_path / "a.json").write_text(text.replace('"TEXT"', json.dumps(TEXT)), encoding="utf-8")
    path = predict_text(tmp_path, "a.json")
    assert path == tmp_path / "test_predictions.json"
    assert json.loads(path.read_text(encoding="utf-8")) == [[TEXT, {"entities": ROW}]] * 2


def test_ner_annotator_document(tmp_path):
    """Classes are completed, and skipped texts keep their index."""
    pairs = [None, [TEXT, {"entities": []}], None]
    (tmp_path / "a.json").write_text(json.dumps({"classes": ["ORG", "PER"], "annotations": pairs}), encoding="utf-8")
    document = json.loads(predict_text(tmp_path, "a.json").read_text(encoding="utf-8"))
    assert document == {"classes": ["ORG", "PER", "LOC"], "annotations": [None, [TEXT, {"entities": ROW}], None]}


def test_doccano_label_ids(tmp_path):
    record = {"text": "a b c", "annotations": [{"label": 12, "start_offset": 0, "end_offset": 1, "user": 3}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(record), encoding="utf-8")
    file = read_annotations(Source(str(tmp_path / "a.jsonl"), may_be_folder=True))
    path = pathlib.Path(write_annotations(str(tmp_path), file, [predict_tags(("B-12", "B-X", "B-012"))]))
    labels = [span["label"] for span in json.loads(path.read_text(encoding="utf-8"))["annotations"]]
    assert labels == [12, "X", "012"]


def test_dataturks(tmp_path):
    path = write_same_predictions(tmp_path, "dataturks", [(TEXT, None)])
    assert json.loads(path.read_text(encoding="utf-8")) == {
        "content": TEXT,
        "extras": None,
        "annotation": [
            {"label": ["PER"], "points": [{"start": 0, "end": 3, "text": "Anna"}]},
            {"label": ["LOC"], "points": [{"start": 14, "end": 21, "text": "New\nYork"}]},
        ],
    }


def test_records_in_an_array_become_json_lines(tmp_path):
    records = [{"text": TEXT, "label": []}, {"label": [[0, 4, "PER"]], "text": TEXT}]
    (tmp_path / "a.json").write_text(json.dumps({"data": records}, indent=1), encoding="utf-8")
    path = predict_text(tmp_path, "a.json", 2)
    assert path == tmp_path / "test_predictions.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert rows == [{"text": TEXT, "label": ROW}] * 2


@pytest.mark.parametrize("layout", ["lines", "single"])
def test_label_studio_tasks_in_other_layouts(layout, tmp_path):
    task = {"data": {"mail": TEXT}, "completions": []}
    text = json.dumps(task, indent=1) if layout == "single" else f"{json.dumps(task)}\n\n{json.dumps(task)}"
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    path = predict_text(tmp_path, "a.json", 1 if layout == "single" else 2)
    tasks = json.loads(path.read_text(encoding="utf-8"))
    assert [len(task["predictions"][0]["result"]) for task in tasks] == ([2] if layout == "single" else [2, 2])


def test_label_studios_smaller_export_becomes_tasks(tmp_path):
    record = {"id": 3, "mail": TEXT, "ner": [{"start": 0, "end": 4, "labels": ["PER"]}], "lead_time": 1.5}
    (tmp_path / "a.json").write_text(json.dumps([record, record]), encoding="utf-8")
    (task,) = json.loads(predict_text(tmp_path, "a.json").read_text(encoding="utf-8"))
    assert (task["id"], task["data"], len(task["annotations"])) == (3, {"mail": TEXT}, 1)
    assert [region["from_name"] for region in task["predictions"][0]["result"]] == ["ner", "ner"]


def test_prodigy(tmp_path):
    """A task for review loses its old answer and the hash that covers old spans."""
    tokens = [{"text": "Anna", "start": 0, "end": 4, "id": 0}, {"text": "New", "start": 14, "end": 17, "id": 5}]
    record = {"text": TEXT, "_input_hash": 1, "_task_hash": 2, "answer": "accept", "spans": [], "tokens": tokens}
    (tmp_path / "a.jsonl").write_text(json.dumps(record), encoding="utf-8")
    path = predict_text(tmp_path, "a.jsonl")
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
def test_prodigy_with_malformed_tokens(tokens, tmp_path):
    record = {"text": TEXT, "answer": "accept", "spans": [], "tokens": tokens, "meta": "\ud83d"}
    (tmp_path / "a.jsonl").write_text(json.dumps(record), encoding="utf-8")
    record_out = json.loads(predict_text(tmp_path, "a.jsonl").read_text(encoding="utf-8"))
    assert (record_out["tokens"], record_out["meta"]) == (tokens, "\ud83d")
    assert record_out["spans"][0] == {"start": 0, "end": 4, "label": "PER"}


def predict_text(folder, name, count=None):
    """Write predictions for a file that contains TEXT `count` times, and return the path."""
    file = read_annotations(Source(str(folder / name), may_be_folder=True))
    tags = predict_tags(("B-PER", "O", "O", "O", "B-LOC", "I-LOC"))
    return pathlib.Path(write_annotations(str(folder), file, [tags] * (count or len(file.examples))))


def test_label_studio(tmp_path):
    """Annotations are kept; names come from the project or from Label Studio's template."""
    path = write_same_predictions(tmp_path, "label_studio", [(TEXT, [(0, 4, "PER")]), (TEXT, None)])
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
    path = write_same_predictions(tmp_path / "other", "label_studio", [(TEXT, None)])
    region = json.loads(path.read_text(encoding="utf-8"))[0]["predictions"][0]["result"][0]
    assert (region["from_name"], region["to_name"]) == ("label", "text")


def test_brat(tmp_path):
    """Spans have one part per line; the text and unrelated files are unchanged."""
    text = "\ufeff" + TEXT
    (tmp_path / "test_predictions").mkdir()
    (tmp_path / "test_predictions" / "annotation.conf").write_text("[entities]\n", encoding="utf-8")
    (tmp_path / "d.txt").write_bytes(text.encode("utf-8"))
    (tmp_path / "d.ann").write_bytes(b"")
    path = predict_text(tmp_path, "d.txt")
    assert path == tmp_path / "test_predictions"
    assert sorted(child.name for child in path.iterdir()) == ["annotation.conf", "d.ann", "d.txt"]
    assert (path / "d.txt").read_bytes() == text.encode("utf-8")
    assert (path / "d.ann").read_bytes() == b"T1\tPER 1 5\tAnna\nT2\tLOC 15 18;19 23\tNew York\n"


@pytest.mark.parametrize("name", ["doccano", "brat"])
def test_offsets_count_line_ends_like_the_file(name, tmp_path):
    text = "The mill\r\nis old.\r\nAnna met Tom\r\nin Lund."
    spans = [(17, 21, "PER"), (26, 29, "PER"), (33, 37, "LOC")]  # with CR LF as one character
    rows = "T1\tPER 17 21\tAnna\nT2\tPER 26 29\tTom\nT3\tLOC 33 37\tLund\n"
    if name == "brat":
        (tmp_path / "d.txt").write_bytes(text.encode("utf-8"))
        (tmp_path / "d.ann").write_text(rows, encoding="utf-8")
    path = str(tmp_path) if name == "brat" else write(tmp_path, "doccano", [(text, spans)])
    written = write_correct_predictions(tmp_path, read_annotations(Source(path, may_be_folder=True)))
    if name == "brat":
        assert (written / "d.txt").read_bytes() == text.encode("utf-8")
        assert (written / "d.ann").read_text(encoding="utf-8") == rows
    else:
        record = json.loads(written.read_text(encoding="utf-8"))
        assert (record["text"], record["label"]) == (text, [list(span) for span in spans])


@pytest.mark.parametrize("name", ["doccano", "label_studio"])
def test_utf16_offsets_stay_utf16(name, tmp_path):
    spans = [(0, 4, "PER"), (15, 23, "LOC")]
    path = write(tmp_path, "doccano", [(TEXT, spans)])
    if name == "label_studio":
        value = {"start": 15, "end": 23, "text": "New\\nYork", "labels": ["LOC"]}
        path = str(tmp_path / "a.json")
        tasks = [{"data": {"text": TEXT}, "annotations": [{"result": [{"value": value}]}]}]
        (tmp_path / "a.json").write_text(json.dumps(tasks), encoding="utf-8")
    file = read_annotations(Source(path, may_be_folder=True))
    assert file.unit == JAVASCRIPT
    assert file.examples[0].tags[4:] == ("B-LOC", "I-LOC")
    content = write_correct_predictions(tmp_path, file).read_text(encoding="utf-8")
    if name == "doccano":
        assert json.loads(content)["label"] == [list(span) for span in spans]
    else:
        assert json.loads(content)[0]["predictions"][0]["result"][0]["value"] == value | {"text": "New\nYork"}
