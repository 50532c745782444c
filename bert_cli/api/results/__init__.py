"""Results that methods return: sequences with one item per text, which become DataFrames."""
