"""Numbers as a page shows them."""

from bert_cli.report.components import clock, memory, number


def test_numbers_for_people():
    assert [number(value) for value in (0.5, 12_345, 1234.5, 250.04, 1e-5, 0.0, None, "a")] == [
        "0.5000", "12,345", "1,234", "250.0", "1.00e-05", "0.0000", "", "a",
    ]  # fmt: skip
    assert [clock(seconds) for seconds in (5.25, 75, 7_500)] == ["5.2 s", "1 min 15 s", "2 h 05 min"]
    assert memory(1_500_000_000) == "1.50 GB"
