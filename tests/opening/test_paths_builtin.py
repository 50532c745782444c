"""The built-in models, as commands choose them; tests/commands/test_builtin_model.py computes them."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.opening import paths
from bert_cli.opening.paths import named_or_builtin, pretrained_model


def test_a_named_model_comes_first():
    assert named_or_builtin("") == named_or_builtin("", default="x") == pretrained_model()
    assert named_or_builtin(paths.PRETRAINED).location == paths.PRETRAINED


@pytest.mark.parametrize(
    ("init_checkpoint", "has_other_files", "message"),
    [
        ("random", False, r"^--init_checkpoint=random is a start for training; here a pre-trained model is needed$"),
        ("", True, r"^--init_checkpoint is needed: give a pre-trained model$"),
        ("missing", False, r"^missing: no checkpoint there"),
    ],
)
def test_refusals(init_checkpoint, has_other_files, message):
    with pytest.raises(InputError, match=message):
        named_or_builtin(init_checkpoint, has_other_files)


def test_without_builtin_weights_the_default_is_used(monkeypatch):
    monkeypatch.setattr(paths, "PRETRAINED", "/missing")
    with pytest.raises(InputError, match=r"^--init_checkpoint is needed"):
        named_or_builtin("")
    with pytest.raises(InputError, match=r"^x: no checkpoint there"):
        named_or_builtin("", default="x")
