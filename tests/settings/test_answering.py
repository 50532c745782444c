"""Groups of flags that decide the answers of trained models."""

from bert_cli.base.errors import InputError
from bert_cli.settings.answering import read_tag_form
from tests.snapshots import raises


def test_forms_for_tags():
    for text in ("auto", "B-PER", "b_PER", "BPER", "PER-B", "PER|b"):
        assert read_tag_form(text) == text
    for text in ("I-PER", "PERB", "B-LOC", ""):
        with raises(InputError):
            read_tag_form(text)
