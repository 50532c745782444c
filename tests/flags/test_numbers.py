"""Numbers and lists of numbers, and advice about commas in them."""

import pytest

from bert_cli.flags.numbers import Number, NumberOrList, comma_advice

RATES = NumberOrList(Number(float, 0.0, None))
BATCHES = NumberOrList(Number(int, 1, None))


def test_numbers_and_lists_are_parsed():
    assert RATES.parse("2e-5") == 2e-5
    assert RATES.parse("1e-5, 3e-5") == (1e-5, 3e-5)
    assert RATES.parse("2.0,5e-5") == (2.0, 5e-5)
    assert RATES.parse("2,3") == (2, 3)
    assert BATCHES.parse("8,16,32") == (8, 16, 32)


@pytest.mark.parametrize(
    ("numbers", "text", "message"),
    [
        (RATES, "2,5e-5", r"2,5e-5 looks like one number; numbers have a decimal point, as 2\.5e-5"),
        (RATES, "0,00003", "0,00003 looks like one number"),
        (RATES, "0,1", "0,1 looks like one number"),
        (RATES, "1e-5,2,5e-5", "2,5e-5 looks like one number"),
        (BATCHES, "1,024", "1,024 looks like one number"),
        (RATES, "1,1", "a list needs different numbers"),
        (Number(float, 0.0, None), "0,1", "a number is needed; numbers have a decimal point, not a comma: 0.1"),
        (Number(int, 1, None), "100,000", "a whole number is needed; numbers have a decimal point, and no sign"),
        (Number(float, 0.0, 1.0), "fast", "could not convert"),
    ],
)
def test_commas_in_numbers_are_refused(numbers, text, message):
    with pytest.raises(ValueError, match=message):
        numbers.parse(text)


def test_advice_about_commas():
    assert comma_advice("2,5%") == "; numbers have a decimal point, not a comma: 2.5%"
    assert comma_advice("1.234,5") == "; numbers have a decimal point, and no sign between thousands"
    assert [comma_advice(text) for text in ("a,b", "0.1", "1,a", "")] == [""] * 4
