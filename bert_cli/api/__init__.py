"""The models of the commands from Python: text in, results as values, no files. Each class is made
by its `load`.
"""
