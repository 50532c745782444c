"""Output names for pre-training data."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runs.preparation.instances import expand_outputs


def test_numbered_files():
    assert expand_outputs("a,b@2") == ["a", "b-00000-of-00002", "b-00001-of-00002"]


@pytest.mark.parametrize("value", ["a@0", "a,", "a@100000"])
def test_wrong_numbers_are_refused(value):
    with pytest.raises(
        InputError, match=rf"^--output_file={value}: .* is not a name, or name@N with N from 1 to 99999$"
    ):
        expand_outputs(value)


def test_repeated_names_are_refused():
    with pytest.raises(InputError, match=r": a name comes twice; each file needs its own$"):
        expand_outputs("a,b,a")
