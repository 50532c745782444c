"""Built-in models, which commands use if no other model is given.

One is pre-trained. The other one is a smaller config and vocabulary for random weights.
"""
