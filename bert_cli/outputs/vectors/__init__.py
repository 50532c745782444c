"""Writers of vector files: JSON lines, NumPy arrays, Parquet and TFRecord."""
