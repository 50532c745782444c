"""Python arguments as flags: their values, refused arguments, and errors that name arguments."""

import pathlib

import pytest

from bert_cli.api.arguments import check_text, name_arguments_in_errors, parse_arguments, replace_flag_names
from bert_cli.base.errors import InputError, InputTypeError
from bert_cli.settings.classification import ClassifySettings


def test_values_are_parsed_like_a_command_line():
    options = {"learning_rate": 1e-4, "do_lower_case": False, "data_dir": pathlib.Path("here"), "labels": ["a", "b"]}
    values = parse_arguments(ClassifySettings, options | {"vocab_file": None})
    assert (values["learning_rate"], values["do_lower_case"]) == (1e-4, False)
    assert (values["data_dir"], values["labels"]) == ("here", ("a", "b"))
    assert values["vocab_file"] is None


def test_names_may_contain_commas():
    options = {"labels": ["yes, always", "no"], "text_column": "How, overall?", "label_column": ["a, b", "c"]}
    values = parse_arguments(ClassifySettings, options)
    assert values["labels"] == ("yes, always", "no")
    assert values["text_column"] == "How, overall?"
    assert values["label_column"] == '"a, b",c'


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"do_train": True}, "do_train"),
        ({"max_seq_lenght": 8}, "did you mean --max_seq_length"),
        ({"train_batch_size": 0}, "is not a positive integer"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        parse_arguments(ClassifySettings, options)


def test_excluded_flags_are_refused():
    assert parse_arguments(ClassifySettings, {"data_dir": "x"})["data_dir"] == "x"
    with pytest.raises(InputError, match="unknown flag --data_dir"):
        parse_arguments(ClassifySettings, {"data_dir": "x"}, excluded=("data_dir",))


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("--train_file=x: give --header=true", "train=x: give header=True"),
        ("check --do_lower_case=false or --strict", "check do_lower_case=False or strict"),
        ("train:7: label 'a'", "train[7]: label 'a'"),
        ("train:1: no column that is the label", "train: no column that is the label"),
        ("file.tsv:7: label 'a'", "file.tsv:7: label 'a'"),
    ],
)
def test_replace_flag_names(message, expected):
    assert replace_flag_names(message, {"train_file": "train"}) == expected


def test_errors_in_a_decorated_function_name_arguments():
    @name_arguments_in_errors(train_file="train")
    def read(path):
        raise InputError(f"{path}: check --train_file")

    with pytest.raises(InputError, match=r"^x: check train$"):
        read("x")


def test_check_text():
    check_text("a")
    with pytest.raises(InputTypeError, match=r"^text_b: one text is needed, found \['a'\]$"):
        check_text(["a"], "text_b")
