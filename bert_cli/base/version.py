"""The version of bert_cli, which setup.py reads too. It has a file of its own because
bert_cli/__init__.py imports the API.
"""

__version__ = "0.1.0"
