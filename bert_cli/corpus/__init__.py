"""The data of pre-training: reading, counts, masking, instances, shards, workers. No TensorFlow."""
