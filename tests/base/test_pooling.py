"""Names of poolings."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.pooling import modes_of, read_pooling


def test_names_are_read_with_and_without_spaces():
    assert read_pooling("cls, mean") == "cls,mean"
    assert modes_of("cls,mean") == ["cls", "mean"]
    assert read_pooling("pooler") == "pooler"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("average", "--pooling=average: 'average' is not one of none, cls"),
        ("cls,pooler", "'pooler' is not one of cls"),
        ("cls,none", "'none' is not one of cls"),
        ("cls,cls", "names cls twice"),
    ],
)
def test_other_names_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        read_pooling(text)
