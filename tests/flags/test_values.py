"""Values of flags from a program: typed values, with the checks of a command line."""

import pathlib

import numpy as np
import pandas as pd
import pytest

from bert_cli.base.errors import InputError
from bert_cli.flags.option import every_flag
from bert_cli.flags.parser import parse
from bert_cli.flags.values import convert_value
from bert_cli.settings.classification import ClassifySettings
from tests.snapshots import raises

FLAGS = {flag.name: flag for flag in every_flag(ClassifySettings)}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("learning_rate", 1, 1.0),
        ("learning_rate", 1e-17, 1e-17),
        ("learning_rate", "2e-5", 2e-5),
        ("learning_rate", [3e-5, 2e-5], (3e-5, 2e-5)),
        ("learning_rate", np.array([3e-5, 2e-5]), (3e-5, 2e-5)),
        ("learning_rate", "3e-5,2e-5", (3e-5, 2e-5)),
        ("train_batch_size", np.int64(8), 8),
        ("train_batch_size", (8, 16), (8, 16)),
        ("num_train_epochs", np.array(3.0), 3.0),
        ("train_batch_size", np.array(8), 8),
        ("train_batch_size", [np.array(8), np.int32(16)], (8, 16)),
        ("do_lower_case", np.array(False), False),
        ("precision", np.array("float32"), "float32"),
        ("do_lower_case", np.bool_(False), False),
        ("do_lower_case", "false", False),
        ("do_lower_case", 0, False),
        ("data_dir", pathlib.Path("here"), "here"),
        ("labels", ["yes, always", "no"], ("yes, always", "no")),
        ("labels", pd.Series(["b", "a"]), ("b", "a")),
        ("labels", np.array(["b", "a"]), ("b", "a")),
        ("labels", {"b": 1, "a": 2}.keys(), ("b", "a")),
        ("labels", range(2), ("0", "1")),
        ("labels", [True, np.array(2.5), np.str_("a")], ("True", "2.5", "a")),
        ("precision", "float32", "float32"),
    ],
)
def test_typed_values(name, value, expected):
    converted = convert_value(FLAGS[name], value)
    assert converted == expected
    assert type(converted) is type(expected)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", True),
        ("learning_rate", -1.0),
        ("learning_rate", float("nan")),
        ("learning_rate", [2e-5, 2e-5]),
        ("learning_rate", [2e-5]),
        ("learning_rate", [2e-5, -1]),
        ("learning_rate", {"a": 1}),
        ("learning_rate", None.__class__),
        ("max_seq_length", [16, 32]),
        ("train_batch_size", 2.0),
        ("train_batch_size", 0),
        ("train_batch_size", "x"),
        ("max_seq_length", "1,5"),
        ("do_lower_case", "maybe"),
        ("do_lower_case", 2),
        ("do_lower_case", [True]),
        ("labels", {"a"}),
        ("labels", b"a,b"),
        ("labels", ["a", "a"]),
        ("labels", ["a", None]),
        ("labels", ["a", float("nan")]),
        ("labels", ("a", pd.NA)),
        ("labels", [b"a"]),
        ("labels", bytearray(b"ab")),
        ("labels", [["a", "b"]]),
        ("labels", np.array([["a", "b"], ["c", "d"]])),
        ("class_weights", {None: 1.0}),
        ("train_batch_size", np.array(2.0)),
        ("train_batch_size", b"ab"),
        ("train_batch_size", [[8, 16]]),
        ("precision", "float8"),
        ("precision", 3),
        ("data_dir", ""),
    ],
)
def test_values_that_a_command_would_refuse(name, value):
    with raises(InputError, f"--{name}="):
        convert_value(FLAGS[name], value)


def test_texts_are_read_as_on_a_command_line():
    texts = {"labels": '"a, b",c', "learning_rate": "5e-05", "do_eval": "true", "class_weights": "x=2,y=1"}
    values, _ = parse(ClassifySettings, [f"--{name}={text}" for name, text in texts.items()])
    assert {name: convert_value(FLAGS[name], text) for name, text in texts.items()} == {
        name: values[name] for name in texts
    }
