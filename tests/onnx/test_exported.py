"""Names and shapes in exported models."""

import numpy as np
import pytest

from bert_cli.base.head_types import CLASSIFIER, ENCODER, SPANS, TAGGER, HeadSpec
from bert_cli.base.spec import INPUTS
from bert_cli.onnx.exported import HUGGING_FACE_INPUTS, NetworkSource, build_exported_graph, hugging_face_inputs
from bert_cli.onnx.runners import make_runner
from tests.onnx.test_runners import batch, random_model


def outputs_of(spec: HeadSpec, scope: str = "", is_hugging_face: bool = False, **changes) -> dict[str, np.ndarray]:
    config, _, weights = random_model(num_hidden_layers=1, **changes)
    rng = np.random.default_rng(0)
    if spec.num_outputs:
        weights[f"{scope}output_weights"] = rng.normal(size=(spec.num_outputs, 64)).astype(np.float32)
        weights[f"{scope}output_bias"] = np.zeros(spec.num_outputs, np.float32)
    model = build_exported_graph([NetworkSource(weights, config, spec)], {"a": "b"}, is_hugging_face=is_hugging_face)
    assert [(entry.key, entry.value) for entry in model.metadata_props] == [("a", "b")]
    inputs = batch(rows=2, length=5)
    return make_runner(model.SerializeToString())(inputs | hugging_face_inputs(inputs))


@pytest.mark.parametrize(
    ("spec", "scope", "is_hugging_face", "shapes"),
    [
        (HeadSpec(ENCODER), "", False, {"sequence_output": (2, 5, 64), "pooled_output": (2, 64)}),
        (HeadSpec(ENCODER), "", True, {"last_hidden_state": (2, 5, 64), "pooler_output": (2, 64)}),
        (HeadSpec(CLASSIFIER, 3), "", False, {"probabilities": (2, 3)}),
        (HeadSpec(CLASSIFIER, 3), "", True, {"logits": (2, 3)}),
        (HeadSpec(CLASSIFIER, 1, activation="identity"), "", False, {"value": (2,)}),
        (HeadSpec(TAGGER, 3), "", False, {"probabilities": (2, 5, 3)}),
        (HeadSpec(SPANS, 2), "cls/squad/", False, {"start_logits": (2, 5), "end_logits": (2, 5)}),
    ],
)
def test_outputs(spec, scope, is_hugging_face, shapes):
    outputs = outputs_of(spec, scope, is_hugging_face)
    assert {name: values.shape for name, values in outputs.items()} == shapes


def test_temperatures_divide_logits():
    logits = outputs_of(HeadSpec(CLASSIFIER, 3), is_hugging_face=True)["logits"]
    scaled = outputs_of(HeadSpec(CLASSIFIER, 3, temperatures=(1.0, 2.0, 4.0)), is_hugging_face=True)["logits"]
    np.testing.assert_allclose(scaled * [1, 2, 4], logits, rtol=1e-5)


@pytest.mark.parametrize(("types", "count"), [(2, 3), (0, 2)])
def test_networks_without_token_types_have_no_input_for_them(types, count):
    config, _, weights = random_model(num_hidden_layers=1, type_vocab_size=types)
    model = build_exported_graph([NetworkSource(weights, config, HeadSpec(ENCODER))], {}, is_hugging_face=True)
    assert [graph_input.name for graph_input in model.graph.input] == list(HUGGING_FACE_INPUTS[:count])


def test_hugging_face_inputs_are_int64():
    inputs = hugging_face_inputs({name: np.array([[number]], np.int32) for number, name in enumerate(INPUTS)})
    assert {name: (values.dtype.name, values.item()) for name, values in inputs.items()} == {
        "input_ids": ("int64", 0),
        "attention_mask": ("int64", 1),
        "token_type_ids": ("int64", 2),
    }
