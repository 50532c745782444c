"""Numbers and lists of numbers, and advice about commas in them."""

import pytest

from bert_cli.flags.values import Number, NumberOrList, comma_advice
from tests.snapshots import raises

RATES = NumberOrList(Number(float, 0.0, None))
BATCHES = NumberOrList(Number(int, 1, None))


def test_numbers_and_lists_are_parsed():
    assert RATES.parse("2e-5") == 2e-5
    assert RATES.parse("1e-5, 3e-5") == (1e-5, 3e-5)
    assert RATES.parse("2.0,5e-5") == (2.0, 5e-5)
    assert RATES.parse("2,3") == (2, 3)
    assert BATCHES.parse("8,16,32") == (8, 16, 32)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        (RATES, "2,5e-5"),
        (RATES, "0,00003"),
        (RATES, "0,1"),
        (RATES, "1e-5,2,5e-5"),
        (BATCHES, "1,024"),
        (RATES, "1,1"),
        (Number(float, 0.0, None), "0,1"),
        (Number(int, 1, None), "100,000"),
        (Number(float, 0.0, 1.0), "fast"),
    ],
)
def test_commas_in_numbers_are_refused(numbers, text):
    with raises(ValueError):
        numbers.parse(text)


def test_advice_about_commas():
    assert comma_advice("2,5%") == "; numbers have a decimal point, not a comma: 2.5%"
    assert comma_advice("1.234,5") == "; numbers have a decimal point, and no sign between thousands"
    assert [comma_advice(text) for text in ("a,b", "0.1", "1,a", "")] == [""] * 4
