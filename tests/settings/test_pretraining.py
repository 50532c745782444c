"""Values for Apache Beam."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.settings.pretraining import read_beam_options


def test_options_are_split_like_a_command_line():
    assert read_beam_options("--region=a --labels='b c'") == ("--region=a", "--labels=b c")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--labels='b", "No closing quotation"),
        ("--runner=x", "give the runner as --runner itself"),
        ("--runner x", "itself"),
    ],
)
def test_wrong_options(text, message):
    with pytest.raises(InputError, match=message):
        read_beam_options(text)
