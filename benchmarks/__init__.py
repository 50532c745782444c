"""How fast bert_cli is beside other programs, and beside what the processor could do: `python -m benchmarks`."""
