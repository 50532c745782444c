"""Problem types: single-label and multi-label classification, regression, multiple choice. One
object for each.
"""
