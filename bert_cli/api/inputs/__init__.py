"""Arguments with data for the Python API: texts, tables in memory and labels."""
