"""The inference engines, which compute trained networks on the CPU without TensorFlow: one module
each, and their table.
"""
