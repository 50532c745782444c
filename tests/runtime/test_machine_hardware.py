"""The processor's instruction sets, and detection of a GPU from driver files."""

import builtins
import io

import pytest

from bert_cli.runtime import machine


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("processor : 0\nflags : fpu avx2\nprocessor : 1\nflags : fpu\n", {"flags", ":", "fpu", "avx2"}),
        ("Features\t: fp asimddp\n", {"Features", ":", "fp", "asimddp"}),
        ("processor : 0\n", set()),
    ],
)
def test_the_first_list_counts(monkeypatch, text, expected):
    monkeypatch.setattr(builtins, "open", lambda *arguments, **options: io.StringIO(text))
    assert machine.processor_flags() == expected


def test_other_systems_have_no_list(monkeypatch):
    def refuse(*arguments, **options):
        raise FileNotFoundError

    monkeypatch.setattr(builtins, "open", refuse)
    assert machine.processor_flags() == frozenset()


@pytest.mark.parametrize(("hidden", "expected"), [(None, True), ("0", True), ("", False), ("-1", False)])
def test_a_driver_shows_its_gpus_unless_they_are_hidden(monkeypatch, tmp_path, hidden, expected):
    monkeypatch.setattr(machine, "_DEVICE_FILES", (str(tmp_path / "nvidia[0-9]*"),))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert not machine.has_gpu()
    (tmp_path / "nvidiactl").touch()
    assert not machine.has_gpu()
    (tmp_path / "nvidia0").touch()
    if hidden is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert machine.has_gpu() is expected
