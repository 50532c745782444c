"""spaCy's and Prodigy's categories of texts."""

import pytest

from bert_cli.base.errors import InputError
from tests.reading.exports.labeled import read_labeled, read_table, write_json
from tests.snapshots import raises

TEXTS = [("A fine film.", {"pos": 1.0, "neg": 0.0}), ("Dull.", {"pos": 0.0, "neg": 1.0})]
EXPECTED = ("single_label", [("A fine film.", "pos"), ("Dull.", "neg")])


@pytest.mark.parametrize("name", ["t.json", "t.jsonl"])
def test_objects_with_cats(name, tmp_path):
    records = [{"text": text, "cats": cats, "ents": [], "tokens": [{"id": 0}]} for text, cats in TEXTS]
    assert read_labeled(write_json(tmp_path / name, records)) == EXPECTED


def test_truth_values_and_several_cats(tmp_path):
    records = [{"text": "a", "cats": {"x": True, "y": True}}, {"text": "b", "cats": {"x": False, "y": True}}]
    assert read_labeled(write_json(tmp_path / "t.jsonl", records)) == ("multi_label", [("a", (1, 1)), ("b", (0, 1))])


def test_pairs(tmp_path):
    assert read_labeled(write_json(tmp_path / "t.json", [[text, {"cats": cats}] for text, cats in TEXTS])) == EXPECTED


def test_documents_of_version_2(tmp_path):
    paragraphs = [
        {"raw": text, "sentences": [], "cats": [{"label": name, "value": value} for name, value in cats.items()]}
        for text, cats in TEXTS
    ]
    path = write_json(tmp_path / "t.json", [{"id": 0, "paragraphs": paragraphs}])
    assert read_labeled(path) == EXPECTED
    assert read_table(path).facts.not_used == ["id", "paragraphs.sentences"]
    with raises(InputError, "t.json:2: a paragraph"):
        read_table(write_json(path, [{"id": 0, "paragraphs": [paragraphs[0], {"raw": "x", "cats": ["pos"]}]}]))


def test_pairs_without_cats_are_refused(tmp_path):
    with raises(InputError, "t.json:"):
        read_table(write_json(tmp_path / "t.json", [["a", {"cats": {"x": 1}}], ["b", {"entities": []}]]))


def test_prodigys_choices(tmp_path):
    options = [{"id": "pos", "text": "Positive"}, {"id": "neg", "text": "Negative"}]
    records = [
        {"text": "A fine film.", "options": options, "accept": ["pos"], "answer": "accept"},
        {"text": "Ignored.", "options": options, "accept": [], "answer": "ignore"},
        {"text": "Rejected.", "options": options, "accept": ["pos"], "answer": "reject"},
        {"text": "Dull.", "options": options, "accept": ["neg"], "answer": "accept"},
    ]
    labeled = read_labeled(write_json(tmp_path / "t.jsonl", records))
    assert labeled == (
        "single_label",
        [("A fine film.", "pos"), ("Ignored.", None), ("Rejected.", None), ("Dull.", "neg")],
    )
