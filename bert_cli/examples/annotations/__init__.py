"""Files of annotation tools, texts with spans, into records of words and tags. No TensorFlow."""
