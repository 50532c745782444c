"""The directory of a run: its manifest, files and lock, the best checkpoint, extending a finished
run, shards of outputs.
"""
