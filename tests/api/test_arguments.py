"""Python arguments as flags: their values, and refused arguments."""

import pathlib

import pytest

from bert_cli.api.arguments import parse_arguments
from bert_cli.base.errors import InputError
from bert_cli.settings.classification import ClassifySettings
from tests.snapshots import raises


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


def test_class_weights_may_be_a_dict():
    values = parse_arguments(ClassifySettings, {"class_weights": {"0": 2, 1: 0.5}})
    assert values["class_weights"] == "0=2,1=0.5"
    values = parse_arguments(ClassifySettings, {"class_weights": {"yes, always": 2, "no": 1}})
    assert values["class_weights"] == '"yes, always=2",no=1'
    with pytest.raises(InputError, match="class_weights=x=-1"):
        parse_arguments(ClassifySettings, {"class_weights": {"x": -1}})


@pytest.mark.parametrize("options", [{"do_train": True}, {"max_seq_lenght": 8}, {"train_batch_size": 0}])
def test_wrong_options_are_refused(options):
    with raises(InputError):
        parse_arguments(ClassifySettings, options)


def test_excluded_flags_are_refused():
    assert parse_arguments(ClassifySettings, {"data_dir": "x"})["data_dir"] == "x"
    with pytest.raises(InputError, match="unknown flag --data_dir"):
        parse_arguments(ClassifySettings, {"data_dir": "x"}, excluded=("data_dir",))
