"""Python API: the commands' models, with texts as input and values as results, without files.

Each model class has a class method `load`.
"""
