"""Runs: the driver that all training commands share, and each task's own data and outputs."""
