"""Values for vocabularies."""

from bert_cli.base.errors import InputError
from bert_cli.settings.preparation import read_reserved_tokens
from tests.snapshots import raises


def test_reserved_tokens():
    assert read_reserved_tokens("[A],[B]") == ("[A]", "[B]")
    for text, token in (("[A],", ""), ("[A],b c", "b c"), (" [A]", " [A]")):
        with raises(InputError) as caught:
            read_reserved_tokens(text)
        assert repr(token) in str(caught.value)
