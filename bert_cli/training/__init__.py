"""Devices, optimizer, step, loop and its hooks, inference."""
