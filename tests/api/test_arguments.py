"""Python arguments as flags: their values, and refused arguments."""

import inspect
import pathlib

import pytest

from bert_cli import Classifier, FeatureExtractor, MaskFiller, QuestionAnswerer, Tagger
from bert_cli.api.arguments import check_arguments, option_values
from bert_cli.base.errors import InputError
from bert_cli.flags.option import every_flag
from bert_cli.settings.answering import USE_FLAGS
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.squad import SquadSettings
from bert_cli.settings.tagging import TagSettings
from bert_cli.settings.texts import ExtractSettings, FillMaskSettings
from tests.snapshots import raises


def test_values_are_parsed_like_a_command_line():
    options = {"learning_rate": 1e-4, "do_lower_case": False, "data_dir": pathlib.Path("here"), "labels": ["a", "b"]}
    values = option_values(ClassifySettings, options | {"vocab_file": None})
    assert (values["learning_rate"], values["do_lower_case"]) == (1e-4, False)
    assert (values["data_dir"], values["labels"]) == ("here", ("a", "b"))
    assert values["vocab_file"] is None


def test_names_may_contain_commas():
    options = {"labels": ["yes, always", "no"], "text_column": "How, overall?", "label_column": ["a, b", "c"]}
    values = option_values(ClassifySettings, options)
    assert values["labels"] == ("yes, always", "no")
    assert values["text_column"] == "How, overall?"
    assert values["label_column"] == '"a, b",c'


def test_class_weights_may_be_a_dict():
    values = option_values(ClassifySettings, {"class_weights": {"0": 2, 1: 0.5}})
    assert values["class_weights"] == "0=2,1=0.5"
    values = option_values(ClassifySettings, {"class_weights": {"yes, always": 2, "no": 1}})
    assert values["class_weights"] == '"yes, always=2",no=1'
    with pytest.raises(InputError, match="class_weights=x=-1"):
        option_values(ClassifySettings, {"class_weights": {"x": -1}})


@pytest.mark.parametrize("options", [{"do_train": True}, {"max_seq_lenght": 8}, {"train_batch_size": 0}])
def test_wrong_options_are_refused(options):
    with raises(InputError):
        option_values(ClassifySettings, options)


def test_excluded_flags_are_refused():
    assert option_values(ClassifySettings, {"data_dir": "x"})["data_dir"] == "x"
    with pytest.raises(InputError, match="unknown flag --data_dir"):
        option_values(ClassifySettings, {"data_dir": "x"}, excluded=("data_dir",))


@pytest.mark.parametrize(
    ("model_class", "settings_class", "for_training"),
    [
        (Classifier, ClassifySettings, set()),
        (Tagger, TagSettings, {"labels", "layers"}),
        (QuestionAnswerer, SquadSettings, set()),
        (FeatureExtractor, ExtractSettings, set()),
        (MaskFiller, FillMaskSettings, set()),
    ],
)
def test_load_has_the_arguments_that_bert_serve_has_as_flags(model_class, settings_class, for_training):
    """bert-tag uses these flags for its training."""
    flags = {flag.name for flag in every_flag(settings_class)} & {*USE_FLAGS, "precision", "engine", "num_threads"}
    assert flags - for_training <= inspect.signature(model_class.load).parameters.keys()


def test_arguments_of_load_have_the_values_of_flags():
    arguments = {"gelu": "erf", "vocab_file": pathlib.Path("v.txt"), "threshold": "0.5", "engine": None}
    values = check_arguments(ClassifySettings, arguments)
    assert values == {"gelu": "erf", "vocab_file": "v.txt", "threshold": "0.5", "engine": None}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gelu", "relu"),
        ("engine", "torch"),
        ("num_threads", -1),
        ("long_text", "middle"),
        ("max_seq_length", -3),
        ("do_lower_case", "perhaps"),
    ],
)
def test_load_refuses_the_values_that_commands_refuse(name, value):
    """An unknown engine or form was taken for the default without a word."""
    with pytest.raises(InputError, match=f"^{name}={value}: "):
        Classifier.load("none", **{name: value})
