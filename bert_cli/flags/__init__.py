"""Flags as fields of groups, which the parser, help, completion, flags.txt and manifest use."""
