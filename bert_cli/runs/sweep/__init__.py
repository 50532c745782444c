"""Sweeps: several runs in one command, for seeds, grid search or cross-validation."""
