"""Output names for pre-training data."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runs.preparation.instances import expand_outputs
from tests.snapshots import raises


def test_numbered_files():
    assert expand_outputs("a,b@2") == ["a", "b-00000-of-00002", "b-00001-of-00002"]


@pytest.mark.parametrize("value", ["a@0", "a,", "a@100000"])
def test_wrong_numbers_are_refused(value):
    with raises(InputError, f"--output_file={value}: "):
        expand_outputs(value)


def test_repeated_names_are_refused():
    with raises(InputError):
        expand_outputs("a,b,a")
