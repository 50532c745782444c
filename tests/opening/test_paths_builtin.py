"""The built-in models, as commands choose them; tests/commands/test_builtin_model.py computes them."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.opening import paths
from bert_cli.opening.paths import named_or_builtin, pretrained_model
from tests.snapshots import raises


def test_a_named_model_comes_first():
    assert named_or_builtin("") == named_or_builtin("", default="x") == pretrained_model()
    assert named_or_builtin(paths.PRETRAINED).location == paths.PRETRAINED


@pytest.mark.parametrize(
    ("init_checkpoint", "has_other_files", "fragment"),
    [
        ("random", False, "--init_checkpoint=random"),
        ("", True, "--init_checkpoint"),
        ("missing", False, "missing: "),
    ],
)
def test_refusals(init_checkpoint, has_other_files, fragment):
    with raises(InputError, fragment):
        named_or_builtin(init_checkpoint, has_other_files)


def test_without_builtin_weights_the_default_is_used(monkeypatch):
    monkeypatch.setattr(paths, "PRETRAINED", "/missing")
    with pytest.raises(InputError, match=r"^--init_checkpoint is needed"):
        named_or_builtin("")
    with pytest.raises(InputError, match=r"^x: no checkpoint there"):
        named_or_builtin("", default="x")
