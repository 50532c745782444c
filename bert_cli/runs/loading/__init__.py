"""Loading a model: which checkpoint, vocabulary, config and labels a command uses, and what speaks
against them.
"""
