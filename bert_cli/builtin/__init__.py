"""The built-in models: one that is pre-trained, and vocabulary and config of a smaller one that
starts from random weights.
"""
