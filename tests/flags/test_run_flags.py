"""The texts in flags.txt."""

from bert_cli.flags.run_flags import first_difference, read_flags, read_guesses


def test_flags_and_guesses_are_read_apart(tmp_path):
    path = tmp_path / "flags.txt"
    path.write_text("--labels=a=b,c\n# a comment\n# found in the data: --text_column=1\n--header=\n", "utf-8")
    assert read_flags(str(path)) == {"labels": "a=b,c", "header": ""}
    assert read_guesses(str(path)) == {"text_column": "1"}


def test_without_a_file_there_are_no_flags(tmp_path):
    assert read_flags(str(tmp_path / "flags.txt")) == read_guesses(str(tmp_path / "flags.txt")) == {}


def test_the_first_difference_is_named():
    assert first_difference({"a": "1", "layers": "-1"}, {"a": "1", "layers": "-2"}) == "--layers=-1, not -2"
    assert first_difference({"a": "1"}, {"a": "1"}) == ""
