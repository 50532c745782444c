"""Values of flags that several commands share."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.settings.groups import file_list_reader


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.txt,b.txt,", "a.txt,b.txt"),
        (",a.txt", "a.txt"),
        ("a.txt,,b.txt, ", "a.txt,b.txt"),
        ("part-*.txt,", "part-*.txt"),
        ("a.txt, b.txt", "a.txt, b.txt"),
        ("-", "-"),
    ],
)
def test_empty_names_are_removed(text, expected):
    assert file_list_reader("input_file")(text) == expected


def test_a_file_name_may_end_in_a_comma(tmp_path):
    path = tmp_path / "a,"
    path.write_text("x")
    assert file_list_reader("input_file")(str(path)) == str(path)


@pytest.mark.parametrize("text", [",", " ,,"])
def test_commas_alone_name_no_file(text):
    with pytest.raises(InputError) as caught:
        file_list_reader("eval_file")(text)
    assert str(caught.value) == f"--eval_file={text}: names no file"
