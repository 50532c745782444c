"""Models as methods of Python find them."""

import pytest

from bert_cli.api.loading import find
from bert_cli.base.errors import InputError


def test_no_model(tmp_path):
    with pytest.raises(InputError, match="nothing"):
        find(tmp_path / "nothing")
