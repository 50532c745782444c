"""Quoted cells and cut lists in error messages."""

from bert_cli.base.messages import count_more, list_names, list_some, quote


def test_count_more():
    assert [count_more(range(count)) for count in (1, 2, 13)] == [
        "",
        " (and 1 more such row)",
        " (and 12 more such rows)",
    ]


def test_quoted_cells_are_one_line_and_cut():
    assert quote("a\nb") == r"'a\nb'"
    assert quote("abcdef", 6) == "'abcdef'"
    assert quote("abcdefg", 6) == "'abcde…'"


def test_long_lists_are_cut():
    names = list("abcdefghijk")
    assert list_some(names[:3], 3) == "a, b, c"
    assert list_some(names[:4], 3) == "a, b, c and 1 more"
    assert list_names(names[:10]) == "a, b, c, d, e, f, g, h, i, j"
    assert list_names(names) == "a, b, c, d, e, f, g, h, i, j, …"
