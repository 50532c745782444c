"""The network as an ONNX graph, in float32 and int8, and running one with onnxruntime. No
TensorFlow.
"""
