"""The training run: its inputs, initial weights, optimizer steps and checkpoints."""
