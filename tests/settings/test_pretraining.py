"""Values for Apache Beam."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.settings.pretraining import read_beam_options
from tests.snapshots import raises


def test_options_are_split_like_a_command_line():
    assert read_beam_options("--region=a --labels='b c'") == ("--region=a", "--labels=b c")


@pytest.mark.parametrize("text", ["--labels='b", "--runner=x", "--runner x"])
def test_wrong_options(text):
    with raises(InputError):
        read_beam_options(text)
