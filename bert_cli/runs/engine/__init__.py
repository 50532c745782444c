"""What computes: a session of TensorFlow or onnxruntime behind the Predictor interface, and the training run."""
