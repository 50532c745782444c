"""Files of vectors: JSON lines, NumPy arrays, Parquet, TFRecord."""
