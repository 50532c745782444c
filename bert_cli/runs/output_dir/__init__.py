"""The output directory: manifest, owned files, lock, best checkpoint and output shards."""
