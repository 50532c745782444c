"""config.pbtxt has the names, types and shapes of a model in Triton's text format."""

from bert_cli.exports.triton import Tensor, model_path, write_triton_config


def test_config(tmp_path):
    inputs = [Tensor("input_word_ids", "int32", [None]), Tensor("text", "string", [])]
    write_triton_config(str(tmp_path), "onnx", inputs, [Tensor("probabilities", "float32", [None, 3])])
    assert (tmp_path / "config.pbtxt").read_text() == (
        'backend: "onnxruntime"\n'
        "max_batch_size: 64\n"
        "input [\n"
        '  { name: "input_word_ids" data_type: TYPE_INT32 dims: [ -1 ] },\n'
        '  { name: "text" data_type: TYPE_STRING dims: [ 1 ] reshape { shape: [ ] } }\n'
        "]\n"
        "output [\n"
        '  { name: "probabilities" data_type: TYPE_FP32 dims: [ -1, 3 ] }\n'
        "]\n"
        "dynamic_batching { }\n"
    )


def test_paths():
    assert model_path("m", "onnx") == "m/1/model.onnx"
    assert model_path("m", "saved_model") == "m/1/model.savedmodel"
