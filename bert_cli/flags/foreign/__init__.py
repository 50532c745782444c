"""Flags and command lines of other programs, as tables; it imports no other room."""
