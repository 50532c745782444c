"""The private APIs of TensorFlow and Keras that the package uses, one function each.

Every module names the version that it was checked with.
"""
