"""One device and two mirrored ones give the same weights, losses and predictions."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import bert_cli

pytestmark = pytest.mark.slow  # a process of its own, which starts TensorFlow and compiles four functions
SCRIPT = pathlib.Path(__file__).with_name("two_devices.py")


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    """What two_devices.py wrote, and what it said."""
    path = tmp_path_factory.mktemp("replicas") / "found.npz"
    package = pathlib.Path(bert_cli.__file__).resolve().parents[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    environment |= {"PYTHONPATH": str(package), "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, str(SCRIPT), str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(np.load(path)), done.stdout + done.stderr


@pytest.fixture(scope="module")
def one(process):
    return {name.removeprefix("one/"): value for name, value in process[0].items() if name.startswith("one/")}


@pytest.fixture(scope="module")
def two(process):
    return {name.removeprefix("two/"): value for name, value in process[0].items() if name.startswith("two/")}


def test_weights_and_moments(one, two):
    names = [name for name in one if name.rpartition("/")[2] in ("adam_m", "adam_v") and "controlled/" not in name]
    names += [name.removesuffix("/adam_m") for name in names if name.endswith("adam_m")]
    assert len(names) == 3 * 25
    for name in names:  # key biases have a true gradient of 0 and hold rounding noise: hence the floors
        floor = {"adam_m": 1e-7, "adam_v": 1e-10}.get(name.rpartition("/")[2], 1e-6)
        atol = 1e-4 * np.abs(one[name]).max() + floor
        np.testing.assert_allclose(two[name], one[name], rtol=0, atol=atol, err_msg=name)
    assert one["global_step"] == two["global_step"] == 4
    assert two["replicas_differ"] == 0


def test_parts_frozen_layers_and_nadam(one, two):
    np.testing.assert_allclose(two["controlled/losses"], one["controlled/losses"], atol=1e-5)
    names = [name for name in one if name.startswith("controlled/") and name.endswith(("kernel", "output_weights"))]
    assert len(names) == 8
    for name in names:
        np.testing.assert_allclose(two[name], one[name], rtol=0, atol=2e-5, err_msg=name)
    assert two["controlled/replicas_differ"] == 0
    assert not any("embeddings" in name and name.endswith("adam_m") for name in one if name.startswith("controlled/"))


def test_losses_and_rates(one, two):
    np.testing.assert_allclose(two["losses"], one["losses"], atol=1e-5)
    np.testing.assert_array_equal(two["rates"], one["rates"])
    np.testing.assert_allclose(one["rates"], [1e-3, 9e-4, 8e-4, 7e-4], rtol=1e-5)


def test_predictions_are_in_the_order_of_the_data(one, two):
    assert one["probabilities"].shape == (11, 3)
    np.testing.assert_allclose(two["probabilities"], one["probabilities"], atol=1e-5)
    np.testing.assert_allclose(one["probabilities"].sum(1), np.ones(11), rtol=1e-5)
    assert len(np.unique(one["probabilities"].round(5), axis=0)) > 6
    assert one["counts"].tolist() == two["counts"].tolist() == [3, 1, 7]


def test_choices_are_shared_by_examples(one, two):
    """The endings of an example stay together."""
    assert one["choices"].shape == (5, 3)
    np.testing.assert_allclose(two["choices"], one["choices"], atol=1e-5)
    np.testing.assert_allclose(two["choice_loss"], one["choice_loss"], rtol=1e-5)


def test_replicas_draw_with_different_seeds(one, two):
    assert one["seeds"] == 3
    assert two["seeds"] not in (3, 6)


def test_an_overflow_on_one_device_is_one_on_all(one, two):
    assert one["scales"].tolist() == [2.0**14]
    assert two["scales"].tolist() == [2.0**14] * 2
    assert np.isfinite(two["weights"]).all()
    np.testing.assert_allclose(two["weights"], np.repeat(one["weights"], 2, axis=0), rtol=1e-6)
    kernels, biases = two["weights"][:2], two["weights"][2:]
    assert kernels[0] == kernels[1]
    assert biases[0] == biases[1]


def test_a_batch_must_be_split_evenly(one, two):
    assert one["batch_of_7"] == ""
    assert two["batch_of_7"] == ("--train_batch_size=7 cannot be split evenly over 2 devices; give a multiple of 2")


def test_description(one, two):
    assert (one["description"], two["description"]) == ("1 CPU", "2 CPUs")
    assert one["is_chief"]
    assert two["is_chief"]


def test_the_start_of_tensorflow_is_silent(process):
    assert process[1] == ""
