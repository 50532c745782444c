"""One device and two mirrored ones give the same weights, losses and predictions."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import bert_cli

pytestmark = pytest.mark.slow  # a separate process that starts TensorFlow and compiles four functions
SCRIPT = pathlib.Path(__file__).with_name("two_devices.py")


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """Return the arrays and the output of two_devices.py."""
    path = tmp_path_factory.mktemp("replicas") / "found.npz"
    package = pathlib.Path(bert_cli.__file__).resolve().parents[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    environment |= {"PYTHONPATH": str(package), "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, str(SCRIPT), str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(np.load(path)), done.stdout + done.stderr


@pytest.fixture(scope="module")
def single(process):
    return {name.removeprefix("one/"): value for name, value in process[0].items() if name.startswith("one/")}


@pytest.fixture(scope="module")
def mirrored(process):
    return {name.removeprefix("two/"): value for name, value in process[0].items() if name.startswith("two/")}


def test_weights_and_moments(single, mirrored):
    names = [name for name in single if name.rpartition("/")[2] in ("adam_m", "adam_v") and "controlled/" not in name]
    names += [name.removesuffix("/adam_m") for name in names if name.endswith("adam_m")]
    assert len(names) == 3 * 25
    for name in names:  # key biases have a gradient of 0 and only contain rounding noise, so the floors are needed
        floor = {"adam_m": 1e-7, "adam_v": 1e-10}.get(name.rpartition("/")[2], 1e-6)
        atol = 1e-4 * np.abs(single[name]).max() + floor
        np.testing.assert_allclose(mirrored[name], single[name], rtol=0, atol=atol, err_msg=name)
    assert single["global_step"] == mirrored["global_step"] == 4
    assert mirrored["replicas_differ"] == 0


def test_accumulation_frozen_layers_and_nadam(single, mirrored):
    np.testing.assert_allclose(mirrored["controlled/losses"], single["controlled/losses"], atol=1e-5)
    names = [name for name in single if name.startswith("controlled/") and name.endswith(("kernel", "output_weights"))]
    assert len(names) == 8
    for name in names:
        np.testing.assert_allclose(mirrored[name], single[name], rtol=0, atol=2e-5, err_msg=name)
    assert mirrored["controlled/replicas_differ"] == 0
    assert not any(
        "embeddings" in name and name.endswith("adam_m") for name in single if name.startswith("controlled/")
    )


def test_losses_and_rates(single, mirrored):
    np.testing.assert_allclose(mirrored["losses"], single["losses"], atol=1e-5)
    np.testing.assert_array_equal(mirrored["rates"], single["rates"])
    np.testing.assert_allclose(single["rates"], [1e-3, 9e-4, 8e-4, 7e-4], rtol=1e-5)


def test_predictions_are_in_the_order_of_the_data(single, mirrored):
    assert single["probabilities"].shape == (11, 3)
    np.testing.assert_allclose(mirrored["probabilities"], single["probabilities"], atol=1e-5)
    np.testing.assert_allclose(single["probabilities"].sum(1), np.ones(11), rtol=1e-5)
    assert len(np.unique(single["probabilities"].round(5), axis=0)) > 6


def test_choices_are_distributed_by_example(single, mirrored):
    """An example's choices stay on one device."""
    assert single["choices"].shape == (5, 3)
    np.testing.assert_allclose(mirrored["choices"], single["choices"], atol=1e-5)
    np.testing.assert_allclose(mirrored["choice_loss"], single["choice_loss"], rtol=1e-5)


def test_replicas_draw_with_different_seeds(single, mirrored):
    assert single["seeds"] == 3
    assert mirrored["seeds"] not in (3, 6)


def test_overflow_on_one_device_affects_all(single, mirrored):
    assert single["scales"].tolist() == [2.0**14]
    assert mirrored["scales"].tolist() == [2.0**14] * 2
    assert np.isfinite(mirrored["weights"]).all()
    np.testing.assert_allclose(mirrored["weights"], np.repeat(single["weights"], 2, axis=0), rtol=1e-6)
    kernels, biases = mirrored["weights"][:2], mirrored["weights"][2:]
    assert kernels[0] == kernels[1]
    assert biases[0] == biases[1]


def test_batch_must_be_split_evenly(single, mirrored):
    assert single["batch_of_7"] == ""
    assert mirrored["batch_of_7"] == (
        "--train_batch_size=7 cannot be split evenly over 2 devices; give a multiple of 2"
    )


def test_description(single, mirrored):
    assert (single["description"], mirrored["description"]) == ("1 CPU", "2 CPUs")
    assert single["is_chief"]
    assert mirrored["is_chief"]


def test_tensorflow_starts_without_output(process):
    assert process[1] == ""
