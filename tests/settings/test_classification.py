"""Shares in flags for classifiers."""

import math

from bert_cli.base.errors import InputError
from bert_cli.settings.classification import CalibrationFlags, parse_share, read_abstain_error
from tests.snapshots import raises


def test_shares():
    assert parse_share("2%") == parse_share("0.02") == 0.02
    assert math.isnan(parse_share("two"))


def test_the_largest_error_is_a_share():
    assert read_abstain_error("2%") == "2%"
    for text in ("0", "100%", "1", "two"):
        with raises(InputError, f"--abstain_error={text}: "):
            read_abstain_error(text)
    assert CalibrationFlags(abstain_error="5%").max_error_rate == 0.05
    assert CalibrationFlags().max_error_rate is None
