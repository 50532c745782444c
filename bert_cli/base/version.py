"""The version of bert_cli.

It is a separate module because setup.py reads it, and bert_cli/__init__.py imports the API.
"""

__version__ = "0.1.0"
