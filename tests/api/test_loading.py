"""Lists of texts as methods of Python take them."""

import pytest

from bert_cli.api.loading import check_texts, find, text_pair
from bert_cli.base.errors import InputError


def test_a_text_and_a_pair():
    assert text_pair(0, "a") == ("a", None)
    assert text_pair(0, ["a", "b"]) == ("a", "b")


@pytest.mark.parametrize("text", [1, None, ("a",), ("a", "b", "c"), ("a", 1), (None, "a")])
def test_what_is_no_text(text):
    with pytest.raises(InputError, match=r"^texts\[7\]: a text, or a pair of texts, is needed"):
        text_pair(7, text)


def test_one_text_is_no_list_of_texts():
    with pytest.raises(InputError, match=r"extract\(\[text\]\)"):
        check_texts("a text", "extract")
    with pytest.raises(InputError, match=r"^texts\[1\]: a text is needed"):
        check_texts(["a", ("b", "c")], "extract")
    check_texts(["a", ""], "extract")


def test_no_model(tmp_path):
    with pytest.raises(InputError, match="nothing"):
        find(tmp_path / "nothing")
