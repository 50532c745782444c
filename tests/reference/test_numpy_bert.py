"""The NumPy BERT against the original's outputs, finite differences, and values computed by hand.

Golden tests run on the selection in tests/fixtures and, if it exists, on the whole set in
../shared.
"""

import json
import math

import numpy as np
import numpy_bert
import numpy_optimizer
import pytest
from checkpoint_files import read_checkpoint

INPUTS = ("input_ids", "input_mask", "segment_ids")
ENCODER_KEYS = {"sequence_output", "pooled_output", "masked_lm_loss", "next_sentence_log_probs"}


@pytest.fixture(params=["fixtures", "shared"])
def golden(request):
    """Return the directory with encoder/ and training/: the selection, then the whole set."""
    return request.getfixturevalue(request.param) / "golden"


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def all_outputs(config, weights, inputs, gelu="tanh"):
    """Return everything that the golden encoder files contain, under their keys."""
    outputs = numpy_bert.forward(config, weights, *(inputs[key] for key in INPUTS), gelu=gelu)
    values = {key: outputs[key] for key in ("embedding_output", "sequence_output", "pooled_output")}
    values |= {f"encoder_layer_{i}": layer for i, layer in enumerate(outputs["encoder_outputs"])}
    labels = (inputs[f"masked_lm_{key}"] for key in ("positions", "ids", "weights"))
    masked = numpy_bert.masked_lm(config, weights, outputs["sequence_output"], *labels, gelu=gelu)
    following = numpy_bert.next_sentence(weights, outputs["pooled_output"], inputs["next_sentence_labels"])
    for task, result in (("masked_lm", masked), ("next_sentence", following)):
        values |= {f"{task}_{key}": result[key] for key in ("log_probs", "loss", "example_loss")}
    return values


@pytest.mark.parametrize("variant", ["", "_full64", "_act_relu", "_act_tanh", "_act_linear"])
def test_encoder_and_pretraining_heads_match_the_original(golden, variant):
    folder = golden / "encoder"
    config = read_json(folder / "bert_config.json")
    if variant.startswith("_act_"):
        config["hidden_act"] = variant.removeprefix("_act_")
    inputs = np.load(folder / ("inputs_full64.npz" if variant == "_full64" else "inputs.npz"))
    expected = np.load(folder / f"outputs{variant}.npz")
    outputs = all_outputs(config, read_checkpoint(folder / "bert_model.ckpt"), inputs)
    assert len(ENCODER_KEYS & set(expected)) >= 3
    for key in expected:
        np.testing.assert_allclose(outputs[key], expected[key], rtol=0, atol=1e-5, err_msg=key)


def test_golden_outputs_distinguish_the_two_gelus(fixtures):
    folder = fixtures / "golden" / "encoder"
    config, weights = read_json(folder / "bert_config.json"), read_checkpoint(folder / "bert_model.ckpt")
    outputs = all_outputs(config, weights, np.load(folder / "inputs.npz"), gelu="erf")
    difference = np.abs(outputs["sequence_output"] - np.load(folder / "outputs.npz")["sequence_output"]).max()
    assert 1e-4 < difference < 1e-2


@pytest.mark.parametrize("task", ["cola", "mrpc", "mnli"])
def test_class_probabilities_match_test_results(shared, task):
    folder = shared / "golden" / "classifier"
    weights = read_checkpoint(folder / task / "model" / "model.ckpt-7")
    lines = (folder / task / "predict_features.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
    batch = {key: np.array([json.loads(line)[key] for line in lines]) for key in (*INPUTS, "label_ids")}
    pooled = numpy_bert.forward(read_json(folder / "bert_config.json"), weights, *(batch[k] for k in INPUTS))[
        "pooled_output"
    ]
    probabilities = numpy_bert.classifier(weights, pooled, batch["label_ids"])["probabilities"]
    expected = np.loadtxt(folder / task / "test_results.tsv", delimiter="\t")
    np.testing.assert_allclose(probabilities, expected, rtol=0, atol=1e-5)


def test_initial_squad_logits_match_the_original(shared):
    folder = shared / "golden" / "training" / "squad"
    batch, weights = np.load(folder / "batch.npz"), read_checkpoint(folder / "bert_model.ckpt")
    outputs = numpy_bert.forward(read_json(folder / "bert_config.json"), weights, *(batch[key] for key in INPUTS))
    logits, expected = numpy_bert.squad(weights, outputs["sequence_output"]), np.load(folder / "initial_logits.npz")
    for key in ("start_logits", "end_logits"):
        np.testing.assert_allclose(logits[key], expected[key], rtol=0, atol=1e-5)


def assert_same_training(final, weights, slots):
    """Compare tensors with the golden set's tolerances: 1e-4 of the largest value, plus a floor."""
    names = [name for name in final if not name.endswith(("/adam_m", "/adam_v"))]
    assert set(names) == set(weights)
    for name in final:
        variable, _, slot = name.partition("/adam_")
        get_value, floor = {
            "": (lambda key: weights[key], 1e-5),
            "m": (lambda key: slots[key][0], 1e-6),
            "v": (lambda key: slots[key][1], 1e-8),
        }[slot]
        atol = 1e-4 * np.abs(final[name]).max() + floor
        np.testing.assert_allclose(get_value(variable), final[name], rtol=0, atol=atol, err_msg=name)


def check_trajectory(folder, task):
    config, batch = read_json(folder / "bert_config.json"), np.load(folder / "batch.npz")
    trajectory, slots = read_json(folder / "trajectory.json"), {}
    weights = read_checkpoint(folder / "bert_model.ckpt")
    schedule = [trajectory[key] for key in ("init_lr", "num_train_steps", "num_warmup_steps")]
    for expected in trajectory["steps"]:
        loss, gradients, norm = numpy_bert.loss_and_gradients(task, config, weights, batch)
        assert loss == pytest.approx(expected["loss"], abs=1e-5)
        assert norm == pytest.approx(expected["global_norm"], rel=1e-4)
        assert numpy_optimizer.global_norm(gradients) == pytest.approx(expected["global_norm_dense"], rel=1e-4)
        assert sorted(set(weights) - set(gradients)) == sorted(trajectory["variables_without_gradient"])
        rate = numpy_optimizer.learning_rate(expected["step"], *schedule)
        assert rate == pytest.approx(expected["learning_rate"], abs=1e-6 * schedule[0])
        numpy_optimizer.train_step(weights, slots, gradients, norm, rate)
    assert_same_training(np.load(folder / "final.npz"), weights, slots)


def test_classification_training_matches_the_original(golden):
    check_trajectory(golden / "training" / "classification", "classification")


@pytest.mark.parametrize("task", ["pretraining", "squad"])
def test_other_training_matches_the_original(shared, task):
    check_trajectory(shared / "golden" / "training" / task, task)


def test_optimizer_matches_the_original(golden):
    folder = golden / "training" / "optimizer"
    trajectory, slots = read_json(folder / "trajectory.json"), {}
    weights, all_gradients = dict(np.load(folder / "initial.npz")), np.load(folder / "gradients.npz")
    states, checked = np.load(folder / "states.npz"), 0
    for expected in trajectory["steps"]:
        prefix = f"step{expected['step']}/"
        gradients = {name: all_gradients[prefix + name] for name in weights}
        norm = numpy_optimizer.global_norm(gradients)
        assert norm == pytest.approx(expected["global_norm"], rel=1e-4)
        schedule = [trajectory[key] for key in ("init_lr", "num_train_steps", "num_warmup_steps")]
        rate = numpy_optimizer.learning_rate(expected["step"], *schedule)
        numpy_optimizer.train_step(weights, slots, gradients, norm, rate)
        for name in weights:
            for suffix, value in (("", weights[name]), ("/adam_m", slots[name][0]), ("/adam_v", slots[name][1])):
                key = f"after_{prefix}{name}{suffix}"
                if key in states:
                    atol = 1e-5 * np.abs(states[key]).max()
                    np.testing.assert_allclose(value, states[key], rtol=0, atol=atol, err_msg=key)
                    checked += 1
    assert checked == len(states.files) == 216


def test_learning_rates_match_the_original(golden):
    for case in read_json(golden / "training" / "optimizer" / "learning_rates.json"):
        schedule = [case[key] for key in ("init_lr", "num_train_steps", "num_warmup_steps")]
        for step, rate in case["step_and_rate"]:
            assert numpy_optimizer.learning_rate(step, *schedule) == pytest.approx(rate, abs=1e-6 * schedule[0])


def test_first_update_by_hand():
    # m = 0.1 * 2, v = 0.001 * 4, so m / sqrt(v) = 0.2 / 0.0632455532 = 3.16227766; weight decay adds 0.01 * 5
    weight, m, v = numpy_optimizer.adam_weight_decay_step("layer/kernel", 5.0, 0.0, 0.0, 2.0, lr=0.1)
    assert (m, v) == (pytest.approx(0.2), pytest.approx(0.004))
    assert weight == pytest.approx(5 - 0.1 * (0.2 / (math.sqrt(0.004) + 1e-6) + 0.05), abs=1e-12)
    undecayed, _, _ = numpy_optimizer.adam_weight_decay_step("cls/predictions/output_bias", 5.0, 0.0, 0.0, 2.0, lr=0.1)
    assert undecayed - weight == pytest.approx(0.1 * 0.05)


TINY = {
    "vocab_size": 11,
    "hidden_size": 6,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 7,
    "max_position_embeddings": 8,
    "type_vocab_size": 2,
}
# The second row is padded. Both rows contain a token twice, and slot 3 of the masks is padding.
BATCH = {
    "input_ids": np.array([[4, 9, 9, 2, 7], [4, 3, 4, 0, 0]]),
    "input_mask": np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]),
    "segment_ids": np.array([[0, 0, 1, 1, 1], [0, 0, 1, 0, 0]]),
    "label_ids": np.array([2, 0]),
    "start_positions": np.array([1, 0]),
    "end_positions": np.array([3, 2]),
    "masked_lm_positions": np.array([[1, 3, 3], [2, 0, 0]]),
    "masked_lm_ids": np.array([[5, 10, 6], [1, 0, 0]]),
    "masked_lm_weights": np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]]),
    "next_sentence_labels": np.array([[1], [0]]),
}


@pytest.mark.parametrize(
    ("task", "hidden_act", "gelu"),
    [
        ("classification", "gelu", "tanh"),
        ("classification", "gelu", "erf"),
        ("classification", "relu", "tanh"),
        ("squad", "tanh", "tanh"),
        ("pretraining", "GELU", "erf"),
        ("pretraining", None, "tanh"),
    ],
)
def test_gradients_match_finite_differences(task, hidden_act, gelu):
    config = TINY | {"hidden_act": hidden_act}
    weights = numpy_bert.random_weights(numpy_bert.variable_shapes(config, task), seed=5)
    loss, gradients, _ = numpy_bert.loss_and_gradients(task, config, weights, BATCH, gelu)
    assert math.isfinite(loss)
    rng, step = np.random.default_rng(0), 1e-6
    for name, value in weights.items():
        direction = rng.choice([-1.0, 1.0], value.shape)  # uses every element of the gradient
        ends = [
            numpy_bert.loss_and_gradients(task, config, weights | {name: value + s * direction}, BATCH, gelu)[0]
            for s in (step, -step)
        ]
        slope = (ends[0] - ends[1]) / (2 * step)
        derivative = np.sum(gradients.get(name, 0.0) * direction)
        assert derivative == pytest.approx(slope, rel=1e-6, abs=1e-8), name


def test_padding_does_not_change_real_positions():
    config = TINY | {"hidden_act": "gelu"}
    weights = numpy_bert.random_weights(numpy_bert.variable_shapes(config), seed=1)
    padded = numpy_bert.forward(config, weights, *(BATCH[key][1:] for key in INPUTS))
    short = numpy_bert.forward(config, weights, *(BATCH[key][1:, :3] for key in INPUTS))
    np.testing.assert_allclose(padded["sequence_output"][:, :3], short["sequence_output"], rtol=0, atol=1e-12)
    assert padded["attention_probs"][1].shape == (1, 3, 5, 5)
    np.testing.assert_array_equal(padded["attention_probs"][1][..., 3:], 0)


def test_norm_counts_rows_of_equal_tokens_separately():
    config = TINY | {"hidden_act": "gelu"}
    weights = numpy_bert.random_weights(numpy_bert.variable_shapes(config, "classification"), seed=2)
    _, gradients, norm = numpy_bert.loss_and_gradients("classification", config, weights, BATCH)
    assert norm != pytest.approx(numpy_optimizer.global_norm(gradients), rel=1e-5)
    distinct = BATCH | {"input_ids": np.array([[4, 9, 1, 2, 7], [5, 3, 6, 0, 8]])}
    _, gradients, norm = numpy_bert.loss_and_gradients("classification", config, weights, distinct)
    assert norm == pytest.approx(numpy_optimizer.global_norm(gradients), rel=1e-12)


def test_clipping_keeps_small_gradients():
    assert numpy_optimizer.clip_by_global_norm({"a": [0.3], "b": [0.4]}) == {"a": [0.3], "b": [0.4]}
    clipped = numpy_optimizer.clip_by_global_norm({"a": [3.0], "b": [4.0]})
    assert (clipped["a"][0], clipped["b"][0]) == (pytest.approx(0.6), pytest.approx(0.8))
