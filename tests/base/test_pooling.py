"""Names of poolings."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.pooling import modes_of, read_pooling
from tests.snapshots import raises


def test_names_are_read_with_and_without_spaces():
    assert read_pooling("cls, mean") == "cls,mean"
    assert modes_of("cls,mean") == ["cls", "mean"]
    assert read_pooling("pooler") == "pooler"


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("average", "--pooling=average: "),
        ("cls,pooler", "'pooler'"),
        ("cls,none", "'none'"),
        ("cls,cls", ""),
    ],
)
def test_other_names_are_refused(text, fragment):
    with raises(InputError, fragment):
        read_pooling(text)
