"""Checks of the training controls, class weights, frozen layers, and resumed runs with many controls."""

import dataclasses
import json
import types

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, HeadSpec
from bert_cli.flags.option import build
from bert_cli.flags.parser import parse
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.heads.model import PLAIN_TRAINING, TrainingRule, tensor_specs
from bert_cli.inference.engine import FineTunedNetwork
from bert_cli.inference.tensorflow import TensorFlowEngine
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.problem_types.registry import PROBLEM_TYPES
from bert_cli.runs.engine import training_run
from bert_cli.runs.tasks import controls
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.controls import Loss, check_class_weights
from bert_cli.settings.pretraining import PretrainSettings
from bert_cli.settings.squad import SquadSettings
from bert_cli.settings.tagging import TagSettings
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from bert_cli.training.step import make_train_step
from tests.configs import small_config
from tests.snapshots import raises
from tests.train_rows import train_rows
from tests.training_states import tensors_of

CONFIG = small_config(num_hidden_layers=2)
ONE_LAYER_CONFIG = dataclasses.replace(CONFIG, num_hidden_layers=1)  # each layer costs a second of tracing
MODULE_CONFIG = ModuleConfig("a module", 30, 8, 2, 8)
SAVING = types.SimpleNamespace(save_checkpoints_steps=3, keep_checkpoint_max=5, keep_moments="all", log_steps=100)
STEPS, SAVED_STEP = 7, 3


@pytest.mark.parametrize(
    ("flags", "phrases"),
    [
        ({"freeze_layers": 3}, ("--freeze_layers=3", "2 layers")),
        ({"gradient_accumulation_steps": 5}, ("--gradient_accumulation_steps=5", "--train_batch_size=32", "30")),
    ],
)
def test_flags_that_do_not_fit_the_model_or_the_batch_are_refused(flags, phrases):
    with pytest.raises(InputError) as caught:
        controls.check_controls(build(ClassifySettings, flags), CONFIG)
    for phrase in phrases:
        assert phrase in str(caught.value)


def test_auto_batch_refuses_several_processes(monkeypatch):
    cluster = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    with raises(InputError, "--auto_batch"):
        controls.check_controls(build(ClassifySettings, {"auto_batch": True}), CONFIG)


@pytest.mark.parametrize(
    "flags",
    [{"freeze_layers": 1}, {"layerwise_lr_decay": 0.9}, {"attention_dropout_prob": 0.0}, {"recompute": "layers"}],
)
def test_a_module_refuses_controls_of_layers(flags):
    with pytest.raises(InputError, match=next(iter(flags))):
        controls.check_controls(build(ClassifySettings, flags), MODULE_CONFIG)
    controls.check_controls(build(ClassifySettings, {"freeze_encoder": True}), MODULE_CONFIG)


def test_the_log_tells_the_size_of_an_update_here_and_in_transformers(caplog):
    caplog.set_level("INFO")
    controls.check_controls(build(ClassifySettings, {"gradient_accumulation_steps": 4, "train_batch_size": 8}), CONFIG)
    assert caplog.messages == [
        "--gradient_accumulation_steps=4: each update has the 8 examples of --train_batch_size, in 4 parts of 2 "
        "(in transformers, an update would have 32)"
    ]
    caplog.clear()
    controls.check_controls(build(ClassifySettings, {"train_batch_size": 8}), CONFIG)
    assert caplog.messages == []


def test_compatible_flags_pass():
    flags = {"freeze_layers": 2, "layerwise_lr_decay": 0.5, "gradient_accumulation_steps": 4, "loss": "focal"}
    controls.check_controls(build(ClassifySettings, flags | {"focal_gamma": 1.0, "train_batch_size": 4}), CONFIG)


LABEL_IDS = np.array([0, 0, 0, 1, 1, 0, 0, 0], np.int32)  # label a six times, b twice, c never
MULTI_LABEL_IDS = np.array([[1, 0], [1, 0], [1, 1], [0, 0]], np.float32)


def class_weights(text: str, problem_type: str = "single_label", labels=("a", "b", "c"), label_ids=LABEL_IDS):
    return controls.class_weights(Loss(class_weights=text), PROBLEM_TYPES[problem_type], labels, label_ids)


def test_balanced_weights_equal_scikit_learn():
    """rows / (labels · rows with the label): 8 / (2 · 6) and 8 / (2 · 2)."""
    label_weights = class_weights("balanced")
    assert label_weights[:2] == (pytest.approx(2 / 3), pytest.approx(2.0))
    assert np.mean(np.array(label_weights)[LABEL_IDS]) == pytest.approx(1.0)
    assert class_weights("none") is None


def test_user_weights_keep_their_ratio_and_have_mean_1():
    label_weights = class_weights("b=3,c=0.5")
    np.testing.assert_allclose(label_weights, np.array([1, 3, 0.5]) / (12 / 8))
    assert np.mean(np.array(label_weights)[LABEL_IDS]) == pytest.approx(1.0)


def test_multi_label_weights_are_a_pair_per_label():
    """The first label is on three of four rows, the second label on one row."""
    label_weights = np.array(class_weights("balanced", "multi_label", ("x", "y"), MULTI_LABEL_IDS))
    np.testing.assert_allclose(label_weights, [[4 / (2 * 1), 4 / (2 * 3)], [4 / (2 * 3), 4 / (2 * 1)]])
    label_weights = np.array(class_weights("y=5", "multi_label", ("x", "y"), MULTI_LABEL_IDS))
    np.testing.assert_allclose(label_weights, [[1, 1], [1 / 2, 5 / 2]])


@pytest.mark.parametrize(
    ("text", "problem_type", "phrases"),
    [
        ("d=2", "single_label", ("d is not a label", "a, b, c")),
        ("a=0,b=0", "single_label", ("nothing to train on",)),
        ("balanced", "regression", ("--class_weights", "number")),
        ("balanced", "multiple_choice", ("--class_weights", "endings")),
    ],
)
def test_meaningless_weights_are_refused(text, problem_type, phrases):
    with pytest.raises(InputError) as caught:
        class_weights(text, problem_type)
    for phrase in phrases:
        assert phrase in str(caught.value)


@pytest.mark.parametrize("loss", [Loss(loss="focal"), Loss(label_smoothing=0.1)])
def test_regression_refuses_label_losses(loss):
    with pytest.raises(InputError, match="a number is predicted"):
        controls.class_weights(loss, PROBLEM_TYPES["regression"], (), LABEL_IDS.astype(np.float32))


@pytest.mark.parametrize("text", ["a", "a=x", "a=1,a=2", "=1", "a=-1", "a=inf", "a=nan", "a=1,", "Balanced"])
def test_invalid_class_weights_are_refused(text):
    with pytest.raises(InputError, match="--class_weights="):
        check_class_weights(text)


@pytest.mark.parametrize("text", ["none", "balanced", "a=1", "B-PER=0.5,a=b=2"])
def test_valid_class_weights_pass(text):
    assert check_class_weights(text) == text


BASE_FLAGS = {
    "train_batch_size": 4,
    "learning_rate": 0.01,
    "precision": "float32",
    "distribution_strategy": "one_device",
}


def train_model(flags: dict, features, folder, state: str | None = None) -> dict:
    """Train like the driver; return weights and moments from the last checkpoint."""
    settings = build(ClassifySettings, BASE_FLAGS | flags)
    folder.mkdir(exist_ok=True)
    freezes = settings.rates.freeze_encoder
    controls.check_controls(settings, ONE_LAYER_CONFIG)
    class_weights = controls.class_weights(
        settings.loss, PROBLEM_TYPES["single_label"], ("a", "b", "c"), features.label_ids
    )
    num_micro_batches = settings.optimization.gradient_accumulation_steps
    rule = controls.training_rule(settings, class_weights)
    engine = TensorFlowEngine(
        FineTunedNetwork(HeadSpec(CLASSIFIER, 3), "a classifier"),
        lambda dtype: BertTextClassifier(ONE_LAYER_CONFIG, 3, compute_dtype=dtype, seed=1, rule=rule),
        settings.devices,
        8,
        settings.training.train_batch_size,
        num_micro_batches,
    )
    factors = controls.learning_rate_factors(engine.variables, ONE_LAYER_CONFIG, settings.rates, freezes)
    updates = TrainingHyperparameters(STEPS, 2, 0.01, 4, random_seed=5, **controls.update_rules(settings))
    train_rows(engine, features, updates, SAVING, str(folder), state, factors)
    return tensors_of(folder, STEPS)


FLAG_SETS = {
    "nadam": {
        "optimizer": "nadam", "weight_decay": 0.1, "lr_schedule": "constant", "layerwise_lr_decay": 0.5,
        "hidden_dropout_prob": 0.3, "classifier_dropout": 0.4, "gradient_accumulation_steps": 4, "loss": "focal",
        "class_weights": "a=2",
    },
    "lamb": {
        "optimizer": "lamb", "lr_schedule": "cosine", "freeze_layers": 0, "attention_dropout_prob": 0.0,
        "gradient_accumulation_steps": 2, "label_smoothing": 0.2, "class_weights": "balanced",
    },
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", FLAG_SETS)
def test_a_killed_run_resumes_bit_for_bit(name, features, tmp_path):
    """A run that is killed after step 5 leaves the checkpoint at step 3, with its moments."""
    expected = train_model(FLAG_SETS[name], features, tmp_path / "whole")
    resumed = train_model(
        FLAG_SETS[name], features, tmp_path / "part", str(tmp_path / "whole" / f"model.ckpt-{SAVED_STEP}")
    )
    assert resumed.keys() == expected.keys()
    for key, value in expected.items():
        assert resumed[key].tobytes() == value.tobytes(), key


def test_a_frozen_encoder_is_computed_once(features, tmp_path, monkeypatch):
    """The weights equal a run that computes the encoder in every step, and only the head changes."""
    flags = {"freeze_encoder": True, "gradient_accumulation_steps": 2, "class_weights": "a=2"}
    trained = train_model(flags, features, tmp_path / "once")
    monkeypatch.setattr(BertTextClassifier, "state_columns", ())
    expected = train_model(flags, features, tmp_path / "each")
    assert trained.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(trained[name], value, rtol=1e-4, atol=1e-6, err_msg=name)
    start = {name: value.numpy() for name, value in make_model(ONE_LAYER_CONFIG)[1].items()}
    changed = {name for name, value in start.items() if not np.array_equal(value, trained[name])}
    assert changed == {"output_weights", "output_bias"}


def test_frozen_layers_stay_bit_for_bit_and_have_no_moments(features, tmp_path):
    start = {name: value.numpy() for name, value in make_model(ONE_LAYER_CONFIG)[1].items()}
    tensors = train_model({"freeze_layers": 1}, features, tmp_path / "run")
    frozen = ("bert/embeddings/", "bert/encoder/layer_0/")
    for name, value in start.items():
        is_frozen = name.startswith(frozen)
        assert (tensors[name].tobytes() == value.tobytes()) == is_frozen, name
        assert (f"{name}/adam_m" in tensors) == (f"{name}/adam_v" in tensors) == (not is_frozen), name


def make_model(config: BertConfig = CONFIG, rule: TrainingRule = PLAIN_TRAINING):
    from bert_cli.model.layers import named_weights

    model = BertTextClassifier(config, 3, seed=1, rule=rule)
    return model, named_weights(model)


@pytest.mark.slow
def test_no_gradient_is_computed_below_the_lowest_trained_layer():
    """Count matrix products in a step's graph: a dense layer has one forward and two backward."""

    def count_products(num_frozen: int | None) -> int:
        strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
        with strategy.scope():
            model, variables = make_model()
            rates = build(ClassifySettings, {} if num_frozen is None else {"freeze_layers": num_frozen}).rates
            factors = controls.learning_rate_factors(variables, CONFIG, rates, False)
            optimizer = AdamWeightDecay(variables, TrainingHyperparameters(10, 0, 0.1, 1, 0), factors)

        def loss_fn(batch, seed):
            losses, shares = model.loss_terms(batch, seed, True, 4)
            return tf.reduce_sum(losses * shares)

        specs = tensor_specs(model.columns)
        step = make_train_step(strategy, loss_fn, optimizer, 1, None, specs)
        rows = {name: tf.ones([size or 4 for size in spec.shape], spec.dtype) for name, spec in specs.items()}
        # Use the optimized graph: in the traced graph, layers are function calls.
        context.context().enable_graph_collection()
        step(rows)
        graphs = context.context().export_run_metadata().function_graphs
        context.context().disable_graph_collection()
        return max(sum("MatMul" in node.op for node in graph.post_optimization_graph.node) for graph in graphs)

    all_trained, first_frozen, all_frozen = (count_products(num_frozen) for num_frozen in (None, 1, 2))
    # A layer has six dense products and two attention products, each with two backward products. The
    # lowest trained layer has fewer.
    assert all_trained - first_frozen >= 16
    assert first_frozen - all_frozen >= 14
    # Two layers with 8 products, attention over the shorter sequences in the first layer, segment
    # embeddings, and pooler and head.
    forwards = 2 * 8 + 2 + 1 + 2
    assert all_frozen == forwards + 3  # two backward products in the head, one for the pooler's kernel


@pytest.mark.slow
def test_micro_batches_make_the_same_update_as_the_whole_batch(features, tmp_path, monkeypatch, caplog):
    """This includes packing, dropout and clipping, and the micro-batches that --auto_batch chooses."""
    flags = {"classifier_dropout": 0.4, "class_weights": "balanced"}
    whole = train_model(flags, features, tmp_path / "whole")
    accumulated = train_model(flags | {"gradient_accumulation_steps": 4}, features, tmp_path / "parts")
    make_train_step = training_run.make_train_step

    def make_small_step(strategy, loss_fn, optimizer, seed, loss_scale, signature, accumulation_steps, on_traced):
        """Return a step for a device with memory for one row with recomputation; it loses its first updates."""
        encoder = loss_fn.__self__.engine.model.encoder
        step = make_train_step(strategy, loss_fn, optimizer, seed, loss_scale, signature, accumulation_steps, on_traced)

        def small_step(batch):
            result = step(batch)
            if accumulation_steps < 4 or not encoder.recomputes:
                raise tf.errors.ResourceExhaustedError(
                    None, None, f"{accumulation_steps} parts of {len(batch['label_ids'])} rows"
                )
            return result

        return small_step

    monkeypatch.setattr(training_run, "make_train_step", make_small_step)
    with raises(InputError, "--gradient_accumulation_steps"):
        train_model(flags, features, tmp_path / "short")
    caplog.clear()
    automatic = train_model(flags | {"auto_batch": True}, features, tmp_path / "found")
    assert [
        record.getMessage().partition(" from now on")[0]
        for record in caplog.records
        if record.name == "bert_cli" and "memory" in record.msg
    ] == [
        "out of memory: each update is computed in 2 micro-batches",
        "out of memory: each update is computed in 4 micro-batches",
        "out of memory: activations are recomputed",
    ]
    for name, value in whole.items():
        np.testing.assert_allclose(accumulated[name], value, rtol=2e-3, atol=2e-5, err_msg=name)
        np.testing.assert_array_equal(automatic[name], accumulated[name], err_msg=name)


def test_flags_set_the_dropout_rates():
    model, _ = make_model()
    assert (model.encoder.embeddings.rate, model.head_dropout) == (0.1, 0.1)
    flags = {"hidden_dropout_prob": 0.25, "attention_dropout_prob": 0.5, "classifier_dropout": 0.75}
    model, _ = make_model(rule=controls.training_rule(build(ClassifySettings, flags), None))
    layers = model.encoder.transformer_layers
    assert [model.encoder.embeddings.rate, *(layer.rate for layer in layers)] == [0.25] * 3
    assert [layer.attention.rate for layer in layers] == [0.5] * 2
    assert model.head_dropout == 0.75
    config = dataclasses.replace(CONFIG, hidden_dropout_prob=0.4, attention_probs_dropout_prob=0.3)
    kept, _ = make_model(config, controls.training_rule(ClassifySettings(), None))
    assert (kept.encoder.transformer_layers[0].rate, kept.encoder.transformer_layers[0].attention.rate) == (0.4, 0.3)


@pytest.mark.parametrize("settings_class", [ClassifySettings, PretrainSettings, SquadSettings, TagSettings])
def test_adam_equals_keras_in_every_command_that_trains(settings_class):
    """The gradients are too small for clipping, and too large for a difference in epsilon."""
    values, _ = parse(settings_class, ["--optimizer=adam", "--lr_schedule=constant"])
    rules = controls.update_rules(build(settings_class, values))
    updates = TrainingHyperparameters(5, 0, 0.01, 1, 0, **rules)
    rng = np.random.default_rng(4)
    start = rng.normal(size=(5, 3)).astype(np.float32)
    ours, theirs = tf.Variable(start), keras.Variable(start)
    optimizer = training_run._OPTIMIZERS[updates.optimizer]({"kernel": ours}, updates)
    adam = keras.optimizers.Adam(0.01)
    for _ in range(5):
        gradient = tf.constant(rng.uniform(0.02, 0.1, size=(5, 3)), tf.float32)
        optimizer.apply({"kernel": gradient})
        adam.apply([gradient], [theirs])
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), atol=5e-6)
    assert np.abs(ours.numpy() - start).min() > 1e-3


def test_bias_correction_is_a_flag_of_pretraining():
    values, _ = parse(PretrainSettings, ["--bias_correction"])
    assert controls.update_rules(build(PretrainSettings, values))["bias_correction"]
