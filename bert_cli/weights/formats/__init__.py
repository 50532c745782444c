"""Weight files: readers, writers and downloads that use no TensorFlow and run no code in files."""
