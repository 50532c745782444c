"""Values of data-file flags."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.flags.option import every_flag
from bert_cli.flags.values import format_flag_value
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.data import HeldOut, read_held_out
from tests.snapshots import raises


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", HeldOut()),
        ("0.0", HeldOut()),
        ("0.1", HeldOut(0.1)),
        ("200", HeldOut(count=200)),
        ("1", HeldOut(count=1)),
        ("first:200", HeldOut(count=200, is_first=True)),
    ],
)
def test_held_out_rows_are_read_and_written(text, value):
    flag = next(flag for flag in every_flag(ClassifySettings) if flag.name == "dev_split")
    assert read_held_out(text) == value
    assert read_held_out(format_flag_value(flag, value)) == value
    assert bool(value) == (text not in ("0", "0.0"))


@pytest.mark.parametrize("text", ["0.95", "1.0", "-1", "nan", "first:0.1", "first:0", "first:", "ten", "9" * 30, "²"])
def test_held_out_rows_that_are_refused(text):
    with raises(InputError, f"--dev_split={text}: "):
        read_held_out(text)
