"""The folder of a run -> a page for people: curves, tables, texts, in one file of HTML without
scripts (no TensorFlow).
"""
