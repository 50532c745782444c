"""Training: devices, optimizers, the training step and loop, callbacks and checkpoints."""
