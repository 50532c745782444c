"""The directory of a run: lock, manifest, owned files, state and best checkpoint."""
