"""What computes: a session of TensorFlow or of an inference engine, with the Predictor interface,
and the training run.
"""
