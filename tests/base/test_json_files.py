"""Third-party JSON: each reader reports a mistake in one line."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import as_list, as_object, has_form, parse_json, read_json, read_json_object, to_json
from bert_cli.model.config_files import read_config, read_hugging_face_labels, read_module_config
from bert_cli.text.hugging_face_files import read_tokenizer_json
from tests.snapshots import check_message, raises

DEEP = "[" * 200_000
LONG = '{"vocab_size": ' + "1" * 5000 + "}"


def test_text_and_bytes_give_the_same_value():
    assert parse_json('{"a": "é"}', "f") == parse_json('{"a": "é"}'.encode(), "f") == {"a": "é"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("\n{", "f:5: "),
        (b"\xff", "f:4: "),
        (DEEP, "f:4: "),
        (LONG, "f:4: "),
    ],
)
def test_parse_json_messages(text, place):
    with pytest.raises(InputError) as caught:
        parse_json(text, "f", 4, advice="repair it")
    check_message(caught, place)
    assert "\n" not in str(caught.value)


SPANS = {"text": "in New York", "spans": [{"start": 3, "end": 11, "label": "LOC"}]}


@pytest.mark.parametrize(
    ("value", "form", "fits"),
    [
        (SPANS, {"text": str, "spans": [{"start": int, "label": object}]}, True),
        (SPANS, {"text": str, "spans": [{"start": str}]}, False),
        (SPANS, {"meta": object}, False),
        ({"meta": None}, {"meta": object}, True),
        ({"spans": []}, {"spans": [{"start": int}]}, True),
        ({"spans": {"start": 3}}, {"spans": [{"start": int}]}, False),
        (["a film", {"cats": {}}], (str, {"cats": dict}), True),
        (["a film", {"cats": {}}, 1], (str, {"cats": dict}), False),
        ([1, "a", None], [int | str | None], True),
        ([1, "a", None], [int | str], False),
        ("text", [str], False),
        (None, {"text": str}, False),
    ],
)
def test_forms_of_values(value, form, fits):
    assert has_form(value, form) is fits


def test_other_values_are_empty_objects_and_lists():
    assert as_object(SPANS) is SPANS
    assert as_list(SPANS["spans"]) is SPANS["spans"]
    for value in (None, "text", 1, [SPANS]):
        assert as_object(value) == {}
    for value in (None, "text", 1, SPANS):
        assert as_list(value) == []


def test_read_json_object_refuses_other_values(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("[1]")
    assert read_json(str(path)) == [1]
    for arguments, ending in [
        ((), ""),
        (("do this",), "; do this"),
        (("do this", "that is needed"), "; that is needed"),
    ]:
        with pytest.raises(InputError) as caught:
            read_json_object(str(path), *arguments)
        assert str(caught.value) == f"{path}: holds no JSON object{ending}"


@pytest.mark.parametrize("text", [DEEP, LONG])
@pytest.mark.parametrize("read", [read_config, read_module_config, read_tokenizer_json, read_hugging_face_labels])
def test_every_reader_of_json_uses_parse_json(tmp_path, text, read):
    path = tmp_path / "config.json"
    path.write_text(text)
    with raises(InputError, "config.json:1: "):
        read(str(path))


@pytest.mark.parametrize("architectures", [[["BertModel"]], [{}], [7], "BertModel", 7])
def test_malformed_architectures_are_ignored(tmp_path, architectures):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"architectures": architectures}))
    assert read_hugging_face_labels(str(path)) == (None, None)


@pytest.mark.parametrize("added", [7, True, "x", [[]], [{"content": "b", "id": []}], {"a": 1}])
def test_malformed_added_tokens_are_refused(tmp_path, added):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"model": {"type": "WordPiece", "vocab": {"a": 0}}, "added_tokens": added}))
    with raises(InputError, "tokenizer.json: "):
        read_tokenizer_json(str(path))


def test_to_json_escapes_lone_surrogates():
    for text in ('{"a": "\\ud83d é", "b": ["\U0001f600", "\\\\ud800", NaN]}', "[]"):
        assert to_json(parse_json(text, "f")) == text
        to_json(parse_json(text, "f")).encode()
    assert to_json({"a": [1]}, indent=1) == '{\n "a": [\n  1\n ]\n}'
