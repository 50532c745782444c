"""The process: what is set before TensorFlow is imported, background imports, stop signals, rendezvous, cluster, memory."""
