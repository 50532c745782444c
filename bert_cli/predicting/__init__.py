"""Trained models for new texts, which the server, the Python API and commands use.

Nothing here trains, reads data files or writes results.
"""
