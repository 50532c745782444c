"""Training on an engine: resuming in float16, callbacks that predict, and frozen variables."""

import pathlib
import types

import numpy as np
import pytest

from bert_cli.base.head_types import CLASSIFIER, HeadSpec
from bert_cli.features.ragged import with_token_ids
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.inference.engine import FineTunedNetwork
from bert_cli.inference.rows import Predictor, load_trained
from bert_cli.inference.tensorflow import TensorFlowEngine
from bert_cli.settings.devices import Devices
from bert_cli.training import loss_scale
from bert_cli.training.optimizers.hyperparameters import FROZEN_ENCODER, TrainingHyperparameters, rate_factors
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from bert_cli.weights.path import find_checkpoint
from tests.configs import small_config
from tests.train_rows import Called, train_rows
from tests.training_states import tensors_of

CONFIG = small_config()
UPDATES = TrainingHyperparameters(steps=8, warmup_steps=2, learning_rate=0.01, batch_size=4, random_seed=5)
SAVING = types.SimpleNamespace(save_checkpoints_steps=5, keep_checkpoint_max=5, keep_moments="newest", log_steps=100)


def make_engine(precision: str) -> TensorFlowEngine:
    devices = Devices(
        distribution_strategy="one_device", precision=precision, use_tpu=False, tpu_name=None, tpu_zone=None,
        gcp_project=None,
    )  # fmt: skip
    network = FineTunedNetwork(HeadSpec(CLASSIFIER, 3), "a classifier")
    return TensorFlowEngine(
        network,
        lambda dtype: BertTextClassifier(CONFIG, 3, compute_dtype=dtype, seed=1),
        devices,
        8,
        train_batch_size=4,
    )


def infer(engine: TensorFlowEngine, features) -> np.ndarray:
    """Return the logits of the features."""
    return Predictor(engine, 8).infer(features, 4, "predicting").logits


@pytest.fixture(scope="module")
def plain(features, tmp_path_factory) -> pathlib.Path:
    """Checkpoints from a whole float32 run. Do not change them."""
    folder = tmp_path_factory.mktemp("plain")
    train_rows(make_engine("float32"), features, UPDATES, SAVING, folder, None)
    return folder


@pytest.fixture(scope="module")
def scaled(features, tmp_path_factory) -> pathlib.Path:
    """The same in float16. The loss scale doubles after three good steps, so it changes during the run."""
    folder = tmp_path_factory.mktemp("scaled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loss_scale, "_GROWTH_STEPS", 3)
        train_rows(make_engine("float16"), features, UPDATES, SAVING, folder, None)
    return folder


@pytest.mark.slow
def test_a_stopped_run_in_float16_resumes_with_its_loss_scale(features, scaled, tmp_path, monkeypatch):
    monkeypatch.setattr(loss_scale, "_GROWTH_STEPS", 3)
    folder = tmp_path
    stop = Called(5, lambda step: True)
    report = train_rows(make_engine("float16"), features, UPDATES, SAVING, folder, None, callbacks=[stop])
    assert report.global_step == 5
    middle = tensors_of(folder, 5)
    assert (middle["loss_scale"], middle["loss_scale_good_steps"]) == (2.0**16, 2)
    train_rows(make_engine("float16"), features, UPDATES, SAVING, str(folder), str(folder / "model.ckpt-5"))
    resumed, expected = (tensors_of(output_folder, 8) for output_folder in (folder, scaled))
    assert (expected["loss_scale"], expected["loss_scale_good_steps"]) == (2.0**17, 2)
    assert resumed.keys() == expected.keys()
    for name, value in expected.items():
        assert resumed[name].tobytes() == value.tobytes(), name


def test_a_float32_checkpoint_resumes_with_a_new_loss_scale(features, plain, tmp_path):
    tensors = tensors_of(plain, 5)
    assert not any(name.startswith("loss_scale") for name in tensors)
    prefix = str(tmp_path / "model.ckpt-77")
    write_tf1(prefix, tensors)
    report = train_rows(make_engine("float16"), features, UPDATES, SAVING, str(tmp_path), prefix)
    assert report.global_step == 8
    after = tensors_of(tmp_path, 8)
    assert (after["loss_scale"], after["loss_scale_good_steps"]) == (2.0**15, 3)


def test_the_loss_scale_is_not_reported_as_unused(plain, tmp_path, caplog):
    scale = {"loss_scale": np.float32(2.0**16), "loss_scale_good_steps": np.int64(2)}
    prefix = str(tmp_path / "model.ckpt-8")
    write_tf1(prefix, tensors_of(plain, 8) | scale)
    with caplog.at_level("INFO"):
        load_trained(make_engine("float32"), find_checkpoint(prefix))
    assert "0 missing, 0 unused" in caplog.text


@pytest.mark.parametrize(
    "table",
    [pytest.param(FROZEN_ENCODER, marks=pytest.mark.slow), {"bert/embeddings/": 0.0, "bert/encoder/": 0.5}],
    ids=["encoder", "embeddings"],
)
def test_frozen_variables_do_not_change(features, tmp_path, table):
    """Variables with the factor 0 stay bit for bit and have no moments; all others are trained."""
    engine = make_engine("float32")
    start = {name: variable.numpy() for name, variable in engine.variables.items()}
    factors = rate_factors(engine.variables, table)
    train_rows(engine, features, UPDATES, SAVING, tmp_path, None, factors)
    tensors = tensors_of(tmp_path, 8)
    for name, factor in factors.items():
        assert (tensors[name].tobytes() == start[name].tobytes()) == (factor == 0.0), name
        assert (f"{name}/adam_m" in tensors) == (factor > 0.0), name


def test_a_callback_can_predict_without_changing_the_training(features, plain, tmp_path):
    """It uses the weights at its step, even if only some word embeddings are trained."""
    watched_folder = tmp_path
    engine, logits = make_engine("float32"), {}
    untrained = with_token_ids(features, np.full_like(features.sequences.token_ids, 29))  # a word that is not trained

    def predict(step):
        logits[step] = infer(engine, untrained)

    train_rows(engine, features, UPDATES, SAVING, watched_folder, None, callbacks=[Called(1, predict)])
    assert list(logits) == list(range(1, 9))
    for step in (5, 8):
        saved, expected = (tensors_of(folder, step) for folder in (watched_folder, plain))
        assert all(saved[name].tobytes() == value.tobytes() for name, value in expected.items())
        loaded = make_engine("float32")
        load_trained(loaded, find_checkpoint(str(watched_folder / f"model.ckpt-{step}")))
        np.testing.assert_array_equal(infer(loaded, untrained), logits[step])
    np.testing.assert_array_equal(infer(engine, untrained), logits[8])
