"""A model learns every problem type, and resumes a stopped run bit for bit."""

import types

import numpy as np
import pytest

from bert_cli.base.head_types import CLASSIFIER, HeadSpec
from bert_cli.features.choice import ChoiceFeatures
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.heads.choice import BertChoice
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.inference.engine import FineTunedNetwork
from bert_cli.inference.rows import Predictor, load_trained
from bert_cli.inference.tensorflow import TensorFlowEngine
from bert_cli.problem_types.registry import PROBLEM_TYPES as TYPES
from bert_cli.settings.devices import Devices
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.weights.path import find_checkpoint
from tests.configs import small_config
from tests.train_rows import Called, train_rows
from tests.training_states import tensors_of

CONFIG = small_config(hidden_size=64, intermediate_size=128)
PROBLEM_TYPES = ("multi_label", "regression", "choice")
NUM_ROWS, CHOICES, STEPS, STOP = 24, 3, 120, 50
# A narrower network, or one with a higher rate, recognizes only one word with every second seed.
UPDATES = TrainingHyperparameters(steps=STEPS, warmup_steps=4, learning_rate=0.002, batch_size=8, random_seed=1)
SAVING = types.SimpleNamespace(save_checkpoints_steps=STOP, keep_checkpoint_max=5, keep_moments="newest", log_steps=100)


def make_sequences(rng, count: int) -> RaggedFeatures:
    """Return sequences with 1 to 6 random words from 3 to 19, after the word 2."""
    lengths = rng.integers(2, 8, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    words = rng.integers(3, 20, offsets[-1], np.int32)
    words[offsets[:-1]] = 2
    return RaggedFeatures(words, np.zeros(len(words), np.int8), offsets)


def has_word(features: RaggedFeatures, words) -> np.ndarray:
    rows = np.split(features.token_ids, features.offsets[1:-1])
    return np.array([np.isin(row, words).any() for row in rows])


def make_features(problem_type: str) -> ClassificationFeatures | ChoiceFeatures:
    """Return rows for a problem type; labels depend on the presence of some words."""
    rng, guids = np.random.default_rng(2), tuple(str(number) for number in range(NUM_ROWS))
    if problem_type == "choice":
        texts = make_sequences(rng, NUM_ROWS * CHOICES)
        labels = rng.integers(0, CHOICES, NUM_ROWS, np.int32)
        # The right choice starts with a special word.
        texts.token_ids[texts.offsets[np.arange(NUM_ROWS) * CHOICES + labels] + 1] = 25
        return ChoiceFeatures(texts, labels, guids)
    texts = make_sequences(rng, NUM_ROWS)
    if problem_type == "regression":
        return ClassificationFeatures(texts, has_word(texts, [5, 6, 7]).astype(np.float32) * 2 - 0.5, guids)
    labels = np.stack([has_word(texts, [5, 6, 7]), has_word(texts, [8, 9, 10, 11])], axis=1)
    return ClassificationFeatures(texts, labels.astype(np.float32), guids)


def make_engine(problem_type: str) -> TensorFlowEngine:
    def make_model(dtype: str):
        if problem_type == "choice":
            return BertChoice(CONFIG, 1, "multiple_choice", compute_dtype=dtype, seed=1)
        return BertTextClassifier(
            CONFIG, 2 if problem_type == "multi_label" else 1, problem_type, compute_dtype=dtype, seed=1
        )

    devices = Devices(
        distribution_strategy="one_device", precision="float32", use_tpu=False, tpu_name=None, tpu_zone=None,
        gcp_project=None,
    )  # fmt: skip
    return TensorFlowEngine(
        FineTunedNetwork(HeadSpec(CLASSIFIER, 1), "a classifier"), make_model, devices, 8, train_batch_size=8
    )


def infer(problem_type: str, engine: TensorFlowEngine, features, batch_size: int = 4) -> dict[str, np.ndarray]:
    """Return predictions with losses."""
    problem = TYPES["multiple_choice" if problem_type == "choice" else problem_type]
    return problem.decoder.postprocess(
        Predictor(engine, 8).infer(features, batch_size, None).logits, features.label_ids
    )


@pytest.fixture(
    scope="module",
    params=[pytest.param(problem_type, marks=pytest.mark.slow) for problem_type in PROBLEM_TYPES[:2]] + ["choice"],
)
def trained(request, tmp_path_factory):
    """Problem type, output directory, features, losses before training, and the engine."""
    folder, engine = tmp_path_factory.mktemp(request.param), make_engine(request.param)
    features = make_features(request.param)
    losses_before = infer(request.param, engine, features)["losses"]
    train_rows(engine, features, UPDATES, SAVING, str(folder), None)
    return request.param, folder, features, losses_before, engine


def test_training_reduces_the_loss(trained):
    problem_type, _, features, losses_before, engine = trained
    predictions = infer(problem_type, engine, features)
    assert predictions["losses"].shape == losses_before.shape == (NUM_ROWS,)
    assert predictions["losses"].mean() < 0.5 * losses_before.mean()
    if problem_type == "regression":
        assert np.corrcoef(predictions["values"], features.label_ids)[0, 1] > 0.9
    elif problem_type == "choice":
        assert (predictions["probabilities"].argmax(axis=1) == features.label_ids).mean() > 0.9
    else:
        assert ((predictions["probabilities"] > 0.5) == features.label_ids).mean() > 0.9


def test_predictions_do_not_depend_on_their_batches(trained):
    problem_type, _, features, _, engine = trained
    small_batches, large_batches = (infer(problem_type, engine, features, size) for size in (1, 100))
    for name in ("losses", next(name for name in small_batches if name != "losses")):
        np.testing.assert_allclose(small_batches[name], large_batches[name], rtol=1e-4, atol=1e-5)


def test_a_loaded_checkpoint_predicts_the_same(trained):
    problem_type, folder, features, _, engine = trained
    loaded = make_engine(problem_type)
    assert load_trained(loaded, find_checkpoint(str(folder))) == STEPS
    expected = infer(problem_type, engine, features)
    np.testing.assert_array_equal(infer(problem_type, loaded, features)["losses"], expected["losses"])


@pytest.mark.slow
@pytest.mark.parametrize("trained", ["multi_label", "choice"], indirect=True)
def test_a_stopped_run_resumes_bit_for_bit(trained, tmp_path):
    problem_type, folder, features, *_ = trained
    stop = Called(STOP, lambda step: True)
    report = train_rows(make_engine(problem_type), features, UPDATES, SAVING, str(tmp_path), None, callbacks=[stop])
    assert report.global_step == STOP
    train_rows(
        make_engine(problem_type), features, UPDATES, SAVING, str(tmp_path), str(tmp_path / f"model.ckpt-{STOP}")
    )
    resumed, expected = tensors_of(tmp_path, STEPS), tensors_of(folder, STEPS)
    assert resumed.keys() == expected.keys()
    for name, value in expected.items():
        assert resumed[name].tobytes() == value.tobytes(), name
