"""Every private API of TensorFlow and Keras that is used, each in one function, with the version it
was checked with.
"""
