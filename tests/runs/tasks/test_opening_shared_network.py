"""Several trainings with one network: the same checkpoints as with new networks, and a single trace."""

import contextlib
import dataclasses
import pathlib
import types
from collections.abc import Callable

import numpy as np
import pytest

from bert_cli.base.head_types import CLASSIFIER, HeadSpec
from bert_cli.features.ragged import with_token_ids
from bert_cli.flags.option import build
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.inference.engine import FineTunedNetwork
from bert_cli.inference.rows import Predictor
from bert_cli.inference.tensorflow import TensorFlowEngine
from bert_cli.runs.tasks.dataset import InMemoryDataset
from bert_cli.runs.tasks.opening import SharedNetwork
from bert_cli.settings.classification import ClassifySettings
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.weights.checkpoint import Tf1Reader
from tests.configs import small_config
from tests.train_rows import train_rows

CONFIG = small_config()
FLAGS = {"distribution_strategy": "one_device", "precision": "float32", "max_seq_length": 8, "train_batch_size": 4}
SAVING = types.SimpleNamespace(save_checkpoints_steps=3, keep_checkpoint_max=5, keep_moments="all", log_steps=100)
FIRST = TrainingHyperparameters(steps=5, warmup_steps=2, learning_rate=0.01, batch_size=4, random_seed=5)
SECOND = dataclasses.replace(FIRST, steps=4, warmup_steps=0, learning_rate=0.02, random_seed=6)


@pytest.fixture
def traces(monkeypatch) -> list:
    """A list that gets a network each time its loss is traced."""
    traced = []
    loss_terms = BertTextClassifier.loss_terms

    def noted(model, *args, **options):
        traced.append(model)
        return loss_terms(model, *args, **options)

    monkeypatch.setattr(BertTextClassifier, "loss_terms", noted)
    return traced


@pytest.fixture
def train(features, tmp_path) -> Callable:
    """A function that trains as a sweep does, and returns the last checkpoint and logits."""
    folders = (tmp_path / str(number) for number in range(9))

    def run(shared: SharedNetwork, updates, state=None, rows=features, flags=()) -> tuple[pathlib.Path, np.ndarray]:
        folder = next(folders)
        folder.mkdir()
        settings = build(ClassifySettings, FLAGS | {"random_seed": updates.random_seed} | dict(flags))
        network = FineTunedNetwork(HeadSpec(CLASSIFIER, 3), "a classifier")

        def make_engine():
            return TensorFlowEngine(
                network,
                lambda dtype: BertTextClassifier(CONFIG, 3, compute_dtype=dtype, seed=updates.random_seed),
                settings.devices,
                8,
                updates.batch_size,
            )

        engine = shared.open(settings, (network,), make_engine, loads_checkpoint=False)
        train_rows(engine, rows, updates, SAVING, folder, state, open_run=shared.open_run)
        return folder / f"model.ckpt-{updates.steps}", Predictor(engine, 8).infer(features, 4, "predicting").logits

    return run


def assert_same(result, expected) -> None:
    """Compare two results of `train` bit for bit."""
    readers = [Tf1Reader(str(prefix)) for prefix, _ in (result, expected)]
    assert readers[0].shapes == readers[1].shapes
    for name in readers[0].shapes:
        values, expected_values = (np.asarray(reader.read(name)) for reader in readers)
        assert values.tobytes() == expected_values.tobytes(), name
    np.testing.assert_array_equal(result[1], expected[1])


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_another_rate_seed_and_length_use_the_same_trace(train, traces, precision):
    shared, flags = SharedNetwork(), {"precision": precision}
    first = train(shared, FIRST, flags=flags)
    second = train(shared, SECOND, flags=flags)
    assert len(traces) == 1
    assert_same(second, train(SharedNetwork(), SECOND, flags=flags))
    resumed = train(shared, FIRST, str(first[0].with_name("model.ckpt-3")), flags=flags)
    assert_same(resumed, first)
    assert len(traces) == 2


@pytest.mark.parametrize("precision", ["float32", pytest.param("float16", marks=pytest.mark.slow)])
def test_folds_with_other_words_use_the_same_trace(train, traces, features, precision):
    shared, flags = SharedNetwork(), {"precision": precision}
    shared.num_words = len(np.union1d(features.sequences.token_ids, [0]))
    # Each fold lacks a few words that other folds have.
    rows = dataclasses.replace(features, text_tokens=np.zeros(10, np.int32), cut_tokens=np.zeros(10, np.int32))
    folds = [rows.take(np.arange(start, start + 6)) for start in (0, 4)]
    words = [np.unique(fold.sequences.token_ids).tolist() for fold in folds]
    assert words[0] != words[1]
    runs = list(zip((FIRST, SECOND), folds, strict=True))
    results = [train(shared, updates, rows=fold, flags=flags) for updates, fold in runs]
    assert len(traces) == 1
    for result, (updates, fold) in zip(results, runs, strict=True):
        assert_same(result, train(SharedNetwork(), updates, rows=fold, flags=flags))
    resumed = train(shared, FIRST, str(results[0][0].with_name("model.ckpt-3")), rows=folds[0], flags=flags)
    assert_same(resumed, results[0])


@pytest.mark.slow
def test_what_a_trace_contains_needs_a_new_one(train, traces, features):
    shared = SharedNetwork()
    train(shared, FIRST)
    network = traces[0]
    # Another rule for updates, or more words: the network is kept.
    more_words = with_token_ids(features, np.arange(len(features.sequences.token_ids), dtype=np.int32) % 30)
    for updates, rows in ((dataclasses.replace(SECOND, weight_decay=0.5), features), (SECOND, more_words)):
        assert_same(train(shared, updates, rows=rows), train(SharedNetwork(), updates, rows=rows))
    assert [model is network for model in traces] == [True, True, False, True, False]
    # A flag that changes the network.
    train(shared, dataclasses.replace(FIRST, batch_size=2), flags={"train_batch_size": 2})
    assert traces[-1] is not network


@pytest.mark.slow
def test_a_run_after_a_diverged_one_is_a_new_one(train, traces):
    shared = SharedNetwork()
    with pytest.raises(Exception, match="the loss of step"):
        train(shared, dataclasses.replace(FIRST, learning_rate=1e38, warmup_steps=0))
    assert_same(train(shared, SECOND), train(SharedNetwork(), SECOND))
    assert len(traces) == 2


@dataclasses.dataclass(frozen=True)
class _Rows(InMemoryDataset):
    """A dataset in memory, which several runs can share."""

    settings: ClassifySettings


class _Reader:
    """A task that notes when it reads data."""

    def __init__(self, readings: list, **flags):
        self.settings = build(ClassifySettings, FLAGS | flags)
        self._readings = readings

    def read(self, model, stack):
        self._readings.append(model)
        return _Rows(self.settings)


def test_the_data_is_read_once_if_the_flags_read_the_same():
    shared, readings = SharedNetwork(), []
    stack = contextlib.ExitStack()
    for number, flags in enumerate(({}, {"random_seed": 3}, {"learning_rate": 0.5, "output_dir": "other"})):
        data = shared.read(_Reader(readings, **flags), number, stack)
        assert data.settings == build(ClassifySettings, FLAGS | flags)
    assert readings == [0]
    for number, flags in enumerate(({"max_seq_length": 16}, {"do_eval": True}, {"do_eval": True}), 3):
        shared.read(_Reader(readings, **flags), number, stack)
    assert readings == [0, 3, 4]
