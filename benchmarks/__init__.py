"""Speed of bert_cli compared with other programs and with the processor's limit.

Run it with `python -m benchmarks`.
"""
