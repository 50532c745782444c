"""Training steps equal the original's (golden/training) for all batch layouts."""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.spec import INPUTS
from bert_cli.features.pretraining_batch import training_batch
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.heads.squad import BertSpanModel
from bert_cli.model.config_files import read_config
from bert_cli.model.encoder import WORDS
from bert_cli.model.layers import named_weights
from bert_cli.training.compact_embeddings import CompactEmbeddings
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.step import make_train_step
from bert_cli.weights.checkpoint import Tf1Reader, load_weights
from tests.training_states import state_of

# Minimum tolerances by kind of tensor (see the README of the golden sets).
FLOORS = {"adam_m": 1e-6, "adam_v": 1e-8}


def golden_folder(task: str, request) -> pathlib.Path:
    """Return the directory with a golden run. The tests include classification; other runs are in ../shared."""
    included = request.getfixturevalue("fixtures") / "golden" / "training" / task
    return included if included.is_dir() else request.getfixturevalue("shared") / "golden" / "training" / task


def inputs_of(batch: dict) -> dict:
    return dict(zip(INPUTS, (batch[name] for name in ("input_ids", "input_mask", "segment_ids")), strict=True))


# Each task's model, and its batch from the original's features.


def classification(config):
    model = BertTextClassifier(config, 3)
    model.head_dropout = 0.0  # the original has 0.1, but the golden run had no dropout
    return model, lambda batch: inputs_of(batch) | {"label_ids": batch["label_ids"]}


def pretraining(config):
    return BertPretrainer(config), lambda batch: training_batch(batch, trim=False)


def squad(config):
    names = ("start_positions", "end_positions")
    return BertSpanModel(config), lambda batch: inputs_of(batch) | {name: batch[name] for name in names}


@pytest.mark.parametrize(
    ("build", "packed", "compact"),
    [
        pytest.param(classification, False, False, marks=pytest.mark.slow),
        pytest.param(classification, True, False, marks=pytest.mark.slow),
        (classification, True, True),
        pytest.param(pretraining, False, False, marks=pytest.mark.slow),
        (pretraining, True, False),
        pytest.param(squad, False, False, marks=pytest.mark.slow),
        (squad, True, False),
    ],
)
def test_trajectory(build, packed, compact, request):
    folder = golden_folder(build.__name__, request)
    expected = json.loads((folder / "trajectory.json").read_text())
    batch = dict(np.load(folder / "batch.npz"))
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        model, make_batch = build(read_config(str(folder / "bert_config.json")))
        batch = make_batch(batch)
        count = len(batch["input_mask"])
        assert batch.keys() == {column.name for column in model.columns}
        variables = named_weights(model)
        report = load_weights(variables, Tf1Reader(str(folder / "bert_model.ckpt")))
        assert report.missing == []
        trained, without_gradient = dict(variables), model.without_gradient()
        words = None
        if compact:
            words = CompactEmbeddings(model.encoder, batch["input_word_ids"])
            batch["input_word_ids"] = words.compact_ids(batch["input_word_ids"])
            trained |= {WORDS: words.table}
        steps, factors = expected["num_train_steps"], dict.fromkeys(without_gradient, 0.0)
        updates = TrainingHyperparameters(steps, expected["num_warmup_steps"], expected["init_lr"], count, 1)
        optimizer = AdamWeightDecay(trained, updates, factors)

    def loss_fn(batch, seed):
        losses, weights = model.loss_terms(batch, seed, packed, count)
        return tf.reduce_sum(losses * weights)

    step = make_train_step(strategy, loss_fn, optimizer, seed=1, loss_scale=None, signature=None)
    placed = {name: tf.constant(values) for name, values in batch.items()}
    for step_values in expected["steps"]:
        loss, rate = step(placed)
        assert abs(float(loss) - step_values["loss"]) <= 1e-5
        assert abs(float(rate) - step_values["learning_rate"]) <= 1e-6 * expected["init_lr"]
    assert abs(float(loss_fn(placed, None)) - expected["loss_after_last_update"]) <= 1e-5
    tensors = state_of(variables, optimizer, words)
    assert tensors.pop("global_step") == expected["final_global_step"]
    final = np.load(folder / "final.npz")
    assert set(final.files) <= set(tensors)  # the included copy has only some tensors
    assert without_gradient == ({"bert/pooler/dense/kernel", "bert/pooler/dense/bias"} if build is squad else set())
    assert not any(f"{name}/adam_m" in tensors for name in without_gradient)
    for name in final.files:
        floor = FLOORS.get(name.rpartition("/")[2], 1e-5)
        difference = np.abs(tensors[name] - final[name]).max()
        assert difference <= 1e-4 * np.abs(final[name]).max() + floor, name
