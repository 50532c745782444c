"""What belongs to one task alone: its data, head, metrics and files; and the interface that the
driver sees.
"""
