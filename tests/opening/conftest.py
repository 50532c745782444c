"""Paths for tests of opening. Only some tests write the files there."""

import pytest

from bert_cli.weights.path import TF1, CheckpointPath


@pytest.fixture
def checkpoint(tmp_path) -> CheckpointPath:
    return CheckpointPath(TF1, str(tmp_path / "model.ckpt-1"))
