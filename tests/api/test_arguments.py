"""Arguments of Python as flags: their values, what is refused, and errors that name arguments."""

import pathlib

import pytest

from bert_cli.api.arguments import in_arguments, named_arguments, parse_arguments
from bert_cli.base.errors import InputError
from bert_cli.settings.classification import ClassifySettings


def test_values_are_those_of_a_command_line():
    given = {"learning_rate": 1e-4, "do_lower_case": False, "data_dir": pathlib.Path("here"), "labels": ["a", "b"]}
    values = parse_arguments(ClassifySettings, given | {"vocab_file": None})
    assert (values["learning_rate"], values["do_lower_case"]) == (1e-4, False)
    assert (values["data_dir"], values["labels"]) == ("here", ("a", "b"))
    assert values["vocab_file"] is None


def test_names_may_hold_commas():
    given = {"labels": ["yes, always", "no"], "text_column": "How, overall?", "label_column": ["a, b", "c"]}
    values = parse_arguments(ClassifySettings, given)
    assert values["labels"] == ("yes, always", "no")
    assert values["text_column"] == "How, overall?"
    assert values["label_column"] == '"a, b",c'


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"do_train": True}, "do_train"),
        ({"max_seq_lenght": 8}, "did you mean --max_seq_length"),
        ({"train_batch_size": 0}, "is not a positive integer"),
    ],
)
def test_refusals(given, message):
    with pytest.raises(InputError, match=message):
        parse_arguments(ClassifySettings, given)


def test_what_the_method_has_itself_is_no_argument():
    assert parse_arguments(ClassifySettings, {"data_dir": "x"})["data_dir"] == "x"
    with pytest.raises(InputError, match="unknown flag --data_dir"):
        parse_arguments(ClassifySettings, {"data_dir": "x"}, own=("data_dir",))


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("--train_file=x: give --header=true", "train=x: give header=True"),
        ("check --do_lower_case=false or --strict", "check do_lower_case=False or strict"),
        ("train:7: label 'a'", "train[7]: label 'a'"),
        ("train:1: no column that is the label", "train: no column that is the label"),
        ("file.tsv:7: label 'a'", "file.tsv:7: label 'a'"),
    ],
)
def test_an_error_in_arguments(message, wanted):
    assert in_arguments(message, {"train_file": "train"}) == wanted


def test_errors_of_a_function_name_arguments():
    @named_arguments(train_file="train")
    def read(path):
        raise InputError(f"{path}: check --train_file")

    with pytest.raises(InputError, match=r"^x: check train$"):
        read("x")
