"""Engine and precision for --engine and --precision, and refused combinations."""

import pytest

from bert_cli import Classifier, FeatureExtractor, MaskFiller, QuestionAnswerer, Tagger
from bert_cli.base.errors import InputError
from bert_cli.settings.devices import AUTO, ENGINES, PRECISIONS, TENSORFLOW, chosen_inference
from tests.snapshots import raises


@pytest.mark.parametrize(
    ("engine", "precision", "expected"),
    [
        ("auto", "int8", ("onnxruntime", "int8", "--precision=int8")),
        ("onnxruntime", "int8", ("onnxruntime", "int8", "--precision=int8")),
        ("onnxruntime", "auto", ("onnxruntime", "float32", "--engine=onnxruntime")),
        ("onnxruntime", "float32", ("onnxruntime", "float32", "--engine=onnxruntime")),
        ("openvino", "auto", ("openvino", "bfloat16", "--engine=openvino")),
        ("openvino", "float32", ("openvino", "float32", "--engine=openvino")),
    ],
)
def test_chosen_inference_engines(engine, precision, expected):
    inference = chosen_inference(engine, precision)
    assert inference
    assert (inference.engine, inference.precision, inference.flag) == expected


@pytest.mark.parametrize("engine", ["auto", "tensorflow"])
@pytest.mark.parametrize("precision", ["auto", "float32", "bfloat16", "float16"])
def test_tensorflow_is_chosen(engine, precision):
    assert chosen_inference(engine, precision) is None


@pytest.mark.parametrize(
    ("engine", "precision", "flag"),
    [
        ("tensorflow", "int8", "--precision=int8"),
        ("onnxruntime", "bfloat16", "--engine=onnxruntime"),
        ("openvino", "int8", "--engine=openvino"),
    ],
)
def test_unsupported_precision_is_refused(engine, precision, flag):
    with raises(InputError, flag):
        chosen_inference(engine, precision)


def test_precisions_include_all_of_the_engines():
    assert PRECISIONS == ("float32", "bfloat16", "float16", "int8")
    assert {precision for engine in ENGINES.values() for precision in engine.precisions} <= set(PRECISIONS)


@pytest.mark.parametrize("model", [Classifier, FeatureExtractor, MaskFiller, QuestionAnswerer, Tagger])
def test_docstrings_list_the_engines(model):
    *engines, last = (AUTO, TENSORFLOW, *ENGINES)
    assert f" engine: {', '.join(engines)} or {last}." in model.load.__doc__
