"""The network as an ONNX graph in float32 and int8, and a runner that uses onnxruntime.

It imports no TensorFlow.
"""
