"""Tables in a log."""

from bert_cli.outputs.text_table import text_table


def test_figures_stand_to_the_right_and_nothing_trails():
    assert text_table([("rows", "5", ""), ("a longer name", "1,234", "of all")]) == [
        "rows                 5",
        "a longer name    1,234    of all",
    ]
