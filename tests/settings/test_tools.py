"""Values for conversions."""

from bert_cli.settings.tools import Changes


def test_stored_types():
    assert [changes.dtype for changes in (Changes(), Changes(float16=True), Changes(bfloat16=True))] == [
        "float32",
        "float16",
        "bfloat16",
    ]
