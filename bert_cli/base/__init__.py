"""Modules that every room may use: errors, files, lines, JSON, names, head types and batch columns.

Nothing here imports TensorFlow before a remote file is used.
"""
