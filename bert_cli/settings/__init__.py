"""A flag is a field of a group: parser, help, flags.txt, manifest and remembered values come from
it. No TensorFlow.
"""
