"""Pre-training data: reading, counts, masking, instances, shards and workers.

It imports no TensorFlow.
"""
