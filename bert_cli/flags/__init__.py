"""How a flag works: a field of a group, from which parser, help, flags.txt, completion and the
manifest are derived.
"""
