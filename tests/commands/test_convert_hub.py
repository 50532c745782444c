"""bert-convert to and from modules for tensorflow-hub."""

import pathlib

import numpy as np
import pytest

from bert_cli.convert_checkpoint import main
from bert_cli.weights.path import find_checkpoint
from tests.snapshots import check_message

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")


@pytest.fixture
def trained(trained_two_layers) -> pathlib.Path:
    """Two layers, since a format may mix them up."""
    return trained_two_layers


def tensors_of(folder) -> dict[str, np.ndarray]:
    from bert_cli.weights.checkpoint import open_checkpoint

    reader = open_checkpoint(find_checkpoint(str(folder)))
    return {name: reader.read(name) for name in reader.shapes if "/adam_" not in name}


def convert(*flags) -> int:
    return main([str(flag) for flag in flags])


def names(folder: pathlib.Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_round_trip(trained, tmp_path, capfd):
    """The encoder is unchanged bit for bit, through a module and from it into every other format."""
    expected = {name: value for name, value in tensors_of(trained).items() if name.startswith("bert/")}
    module = tmp_path / "deep" / "module"
    assert convert(f"--from={trained}", f"--to={module}", "--to_format=hub", "--check") == 0
    err = capfd.readouterr().err
    check_message(err, "dropped: ")
    check_message(err, "check: ")
    assert names(module) == {
        "saved_model.pb", "fingerprint.pb", "variables/variables.index", "variables/variables.data-00000-of-00001",
        "assets/vocab.txt", "assets.extra/bert_config.json", "assets.extra/tokenizer_config.json",
    }  # fmt: skip
    for name, place in (("vocab.txt", "assets"), ("bert_config.json", "assets.extra")):
        assert (module / place / name).read_bytes() == (trained / name).read_bytes()
    for target in ("back/bert_model.ckpt", "hf", "keras/x.weights.h5"):
        assert convert(f"--from={module}", f"--to={tmp_path / target}", "--check") == 0
        converted = tensors_of(tmp_path / target.partition("/")[0])
        assert converted.keys() == expected.keys()
        for name, value in expected.items():
            assert np.array_equal(converted[name], value), (target, name)
        assert (tmp_path / target.partition("/")[0] / "vocab.txt").read_bytes() == (trained / "vocab.txt").read_bytes()
    there = [f"--from={trained}", f"--to={module}", "--to_format=hub"]
    assert convert(*there) == 1
    check_message(capfd.readouterr().err, "--to")
    assert convert(*there, "--overwrite") == 0
    assert not list(module.parent.glob(".writing-*"))


def test_refusals(trained, tmp_path, capfd):
    module = tmp_path / "module"
    there = [f"--from={trained}", f"--to={module}", "--to_format=hub"]
    for flags, message in (
        ([*there, "--head=classifier"], "--head=classifier: a module for tensorflow-hub holds the encoder alone"),
        ([*there, "--float16"], "--float16: a module for tensorflow-hub holds float32"),
        ([f"--from={tmp_path / 'no.tar.gz'}", f"--to={module}"], "no such module; --from takes"),
    ):
        assert convert(*flags) == 1
        assert message in capfd.readouterr().err
        assert not module.exists()
