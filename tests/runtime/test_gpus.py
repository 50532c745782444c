"""Detection of a GPU from driver files."""

import pytest

from bert_cli.runtime import gpus


@pytest.mark.parametrize(("hidden", "expected"), [(None, True), ("0", True), ("", False), ("-1", False)])
def test_a_driver_shows_its_gpus_unless_they_are_hidden(monkeypatch, tmp_path, hidden, expected):
    monkeypatch.setattr(gpus, "_DEVICE_FILES", (str(tmp_path / "nvidia[0-9]*"),))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert not gpus.has_gpu()
    (tmp_path / "nvidiactl").touch()
    assert not gpus.has_gpu()
    (tmp_path / "nvidia0").touch()
    if hidden is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert gpus.has_gpu() is expected
