"""The network as ONNX graphs, and what runs them; no TensorFlow."""
