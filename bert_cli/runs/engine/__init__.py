"""What computes: a session of TensorFlow or of an inference engine behind the Predictor interface, and the training run."""
