"""Training of every problem type through the one Session: it learns; a run that is stopped goes on bit for bit."""

import types

import numpy as np
import pytest

from bert_cli.features.choice import ChoiceFeatures
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.heads.choice import BertChoice
from bert_cli.heads.classification import BertClassifier
from bert_cli.runs.engine import session as session_module
from bert_cli.runs.engine.session import Session
from bert_cli.settings.devices import Devices
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.weights.checkpoint import Tf1Reader
from bert_cli.weights.path import find_checkpoint
from tests.configs import small_config
from tests.train_rows import Called, train_rows

CONFIG = small_config(hidden_size=64, intermediate_size=128)
KINDS = ("multi_label", "regression", "choice")
COUNT, ENDINGS, STEPS, STOP = 24, 3, 120, 50
# Narrower, or at a higher rate, half of the seeds end in a valley where the network knows one word only.
UPDATES = TrainingHyperparameters(steps=STEPS, warmup_steps=4, learning_rate=0.002, batch_size=8, random_seed=1)
SAVING = types.SimpleNamespace(save_checkpoints_steps=STOP, keep_checkpoint_max=5, keep_moments="newest", log_steps=100)


def sequences(rng, count: int) -> RaggedFeatures:
    """Sequences of 1 to 6 words out of 3 to 19, behind word 2."""
    lengths = rng.integers(2, 8, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    words = rng.integers(3, 20, offsets[-1], np.int32)
    words[offsets[:-1]] = 2
    return RaggedFeatures(words, np.zeros(len(words), np.int8), offsets)


def has_word(features: RaggedFeatures, words) -> np.ndarray:
    rows = np.split(features.token_ids, features.offsets[1:-1])
    return np.array([np.isin(row, words).any() for row in rows])


def features_of(kind: str) -> ClassificationFeatures | ChoiceFeatures:
    """What is asked is whether some words are there."""
    rng, guids = np.random.default_rng(2), tuple(str(number) for number in range(COUNT))
    if kind == "choice":
        texts = sequences(rng, COUNT * ENDINGS)
        labels = rng.integers(0, ENDINGS, COUNT, np.int32)
        texts.token_ids[texts.offsets[np.arange(COUNT) * ENDINGS + labels] + 1] = 25  # the right one begins with it
        return ChoiceFeatures(texts, labels, guids)
    texts = sequences(rng, COUNT)
    if kind == "regression":
        return ClassificationFeatures(texts, has_word(texts, [5, 6, 7]).astype(np.float32) * 2 - 0.5, guids)
    labels = np.stack([has_word(texts, [5, 6, 7]), has_word(texts, [8, 9, 10, 11])], axis=1)
    return ClassificationFeatures(texts, labels.astype(np.float32), guids)


def make_session(kind: str) -> Session:
    def make_model(dtype: str):
        if kind == "choice":
            return BertChoice(CONFIG, 1, "multiple_choice", compute_dtype=dtype, seed=1)
        return BertClassifier(CONFIG, 2 if kind == "multi_label" else 1, kind, compute_dtype=dtype, seed=1)

    devices = Devices(
        distribution_strategy="one_device", precision="float32", use_tpu=False, tpu_name=None, tpu_zone=None,
        gcp_project=None,
    )  # fmt: skip
    return Session(make_model, devices, 8, train_batch_size=8)


@pytest.fixture(scope="module", params=[pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[:2]] + ["choice"])
def trained(request, tmp_path_factory):
    """Kind, folder, features, the losses of before, and the session."""
    folder, session = tmp_path_factory.mktemp(request.param), make_session(request.param)
    features = features_of(request.param)
    before = session.infer(features, 4, "evaluating")["losses"]
    train_rows(session, features, UPDATES, SAVING, str(folder), None)
    return request.param, folder, features, before, session


def tensors_of(folder, step: int) -> dict:
    reader = Tf1Reader(str(folder / f"model.ckpt-{step}"))
    return {name: reader.read(name) for name in reader.shapes}


def test_training_learns_the_data(trained):
    kind, _, features, before, session = trained
    found = session.infer(features, 4, "evaluating")
    assert found["losses"].shape == before.shape == (COUNT,)
    assert found["losses"].mean() < 0.5 * before.mean()
    if kind == "regression":
        assert np.corrcoef(found["values"], features.label_ids)[0, 1] > 0.9
    elif kind == "choice":
        assert (found["probabilities"].argmax(axis=1) == features.label_ids).mean() > 0.9
    else:
        assert ((found["probabilities"] > 0.5) == features.label_ids).mean() > 0.9


def test_predictions_do_not_depend_on_their_batches(trained):
    _, _, features, _, session = trained
    one, many = (session.infer(features, size, "predicting") for size in (1, 100))
    for name in ("losses", next(name for name in one if name != "losses")):
        np.testing.assert_allclose(one[name], many[name], rtol=1e-4, atol=1e-5)


def test_the_checkpoint_comes_back(trained):
    kind, folder, features, _, session = trained
    loaded = make_session(kind)
    assert loaded.load_trained(find_checkpoint(str(folder))) == STEPS
    wanted = session.infer(features, 4, "predicting")
    np.testing.assert_array_equal(loaded.infer(features, 4, "predicting")["losses"], wanted["losses"])


@pytest.mark.slow
@pytest.mark.parametrize("trained", ["multi_label", "choice"], indirect=True)
def test_a_stopped_run_goes_on_bit_for_bit(trained, tmp_path):
    kind, folder, features, *_ = trained
    stop = Called(STOP, lambda step: True)
    report = train_rows(make_session(kind), features, UPDATES, SAVING, str(tmp_path), None, callbacks=[stop])
    assert report["global_step"] == STOP
    train_rows(make_session(kind), features, UPDATES, SAVING, str(tmp_path), str(tmp_path / f"model.ckpt-{STOP}"))
    found, wanted = tensors_of(tmp_path, STEPS), tensors_of(folder, STEPS)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name].tobytes() == value.tobytes(), name


def test_a_group_of_choices_has_the_tokens_of_as_many_padded_examples(monkeypatch):
    """--predict_batch_size counts examples, whatever the number of their endings."""
    monkeypatch.setattr(session_module, "LEAST_TOKENS", 1)
    session, features = make_session("choice"), features_of("choice")
    groups = [rows for rows, _ in session.predict_batches(features, 4, None)]
    assert sorted(np.concatenate(groups).tolist()) == list(range(COUNT))
    for rows in groups:
        assert features.batch(rows)["input_word_ids"].size <= 4 * ENDINGS * 8
