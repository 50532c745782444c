"""Setup of the process: settings for TensorFlow, background imports, signals, cluster and memory."""
