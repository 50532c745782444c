"""The network as an ONNX graph, in float32 and int8, and the onnxruntime session that computes it; no TensorFlow."""
