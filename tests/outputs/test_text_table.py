"""Tables as lines of text: right-aligned numbers, and no trailing spaces."""

from bert_cli.outputs.text_table import text_table

ROWS = [("rows", "5", ""), ("a longer name", "1,234", "of all")]


def test_columns_without_a_header():
    assert text_table(ROWS, "lrl") == ["rows                 5", "a longer name    1,234    of all"]


def test_a_header_is_aligned_as_its_column():
    assert text_table([row[:2] for row in ROWS], "lr", ("name", "count")) == [
        "name             count",
        "rows                 5",
        "a longer name    1,234",
    ]


def test_brackets_are_not_markup():
    assert text_table([("[CLS]", "[bold]")], "ll") == ["[CLS]    [bold]"]
