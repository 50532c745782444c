"""Numbers in the form that a page shows."""

from bert_cli.report.components import format_setting_number, memory, number, time_span


def test_formats_of_numbers():
    assert [number(value) for value in (0.5, 12_345, 1234.5, 250.04, 1e-5, 0.0, None, "a")] == [
        "0.5000", "12,345", "1,234", "250.0", "1e-05", "0.0000", "", "a",
    ]  # fmt: skip
    assert [time_span(seconds) for seconds in (5.25, 75, 7_500)] == ["5.2 s", "1 min 15 s", "2 h 05 min"]
    assert memory(1_500_000_000) == "1.50 GB"


def test_small_numbers_have_one_notation():
    values = (0.00027, 2.66667e-05, 1e-4, 5e-5, 1e-12, -0.0004)
    expected = ["2.7e-04", "2.67e-05", "1e-04", "5e-05", "1e-12", "-4e-04"]
    assert [number(value) for value in values] == expected
    assert [format_setting_number(value) for value in values] == expected
    assert [format_setting_number(value) for value in (0.001, 0.1, 2.0, 128)] == ["0.001", "0.1", "2", "128"]
