"""Errors name Python arguments instead of flags."""

import pytest

from bert_cli.base.errors import InputError, InputTypeError, check_text, name_arguments_in_errors, replace_flag_names
from tests.snapshots import raises


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("--train_file=x: give --header=true", "train=x: give header=True"),
        ("check --do_lower_case=false or --strict", "check do_lower_case=False or strict"),
        (
            "--vocab_file is short: bert-convert --vocab_file=v.txt --head=x adds",
            "vocab_file is short: bert-convert --vocab_file=v.txt --head=x adds",
        ),
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
    with raises(InputTypeError, "text_b: "):
        check_text(["a"], "text_b")
