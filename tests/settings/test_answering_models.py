"""Flags of bert-serve for all models or for one of them."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.flags.option import build
from bert_cli.flags.parser import parse
from bert_cli.settings.serving import ServeSettings

DEVICES = ("precision", "engine", "num_threads")
TWO = ("--model=bge=/models/bge", "--model=e5=/models/e5")


def flags_of(*arguments: str) -> dict:
    """Return per model its flags, except device flags, and the names that it must use."""
    flags = build(ServeSettings, parse(ServeSettings, list(arguments))[0]).model_flags()
    without_devices = {
        name: {flag: value for flag, value in model.values.items() if flag not in DEVICES}
        for name, model in flags.items()
    }
    return {name: (values, sorted(flags[name].required)) for name, values in without_devices.items()}


def test_a_value_is_for_all_models_or_for_one():
    values = flags_of(*TWO, "--max_seq_length=256", "--pooling=bge=cls", "--pooling=max", "--max_seq_length=e5=64")
    assert values == {
        "bge": ({"max_seq_length": 256, "pooling": "cls"}, ["pooling"]),
        "e5": ({"max_seq_length": 64, "pooling": "max"}, ["max_seq_length"]),
    }


def test_a_single_model_must_use_every_flag():
    values = {"labels": ("a", "b=c"), "do_lower_case": False, "normalize": True}
    flags = ("--labels=default=a,b=c", "--do_lower_case=false", "--normalize")
    assert flags_of("--output_dir=/models/a", *flags) == {"default": (values, sorted(values))}


def test_environment_variables(monkeypatch):
    monkeypatch.setenv("BERT_SERVE_POOLING", "cls")
    monkeypatch.setenv("BERT_SERVE_NORMALIZE", "false")
    assert flags_of("--output_dir=/m")["default"][0] == {"pooling": "cls", "normalize": False}


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--max_seq_length=0", r"--max_seq_length=0: 0 is not a positive integer"),
        ("--max_seq_length=e5=x", r"--max_seq_length=x: a whole number is needed"),
        ("--pooling=median", r"--pooling=median: 'median' is not one of none, cls, max, mean, mean_sqrt_len"),
        ("--pooling=none", r"--pooling=none: gives vectors of tokens, and a text needs one vector"),
        ("--pooling=other=cls", r"--pooling=other=cls: there is no model other; the names are bge, e5"),
        ("--pooling=e5=", r"--pooling=e5=: a value is needed after NAME="),
        ("--do_lower_case=maybe", r"--do_lower_case=maybe: true or false is needed"),
        (
            "--layers=-2 --pooling=pooler",
            r"--pooling=pooler and --layers cannot be combined: the pooler reads the last layer;",
        ),
        ("--gelu=e5=erf --gelu=e5=tanh", r"--gelu=e5=tanh: is given twice for e5"),
        ("--gelu=erf --gelu=tanh", r"--gelu=tanh: is given twice for all models"),
    ],
)
def test_wrong_values_are_refused(flag, message):
    with pytest.raises(InputError, match=message):
        flags_of(*TWO, *flag.split(" "))
