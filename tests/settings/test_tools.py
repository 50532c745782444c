"""Values for conversions."""

from bert_cli.settings.tools import ModelChanges


def test_stored_types():
    assert [changes.dtype for changes in (ModelChanges(), ModelChanges(float16=True), ModelChanges(bfloat16=True))] == [
        "float32",
        "float16",
        "bfloat16",
    ]
