"""Files of words and tags -> TaggingExample records: columns, tables and JSON."""
