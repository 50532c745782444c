"""bert_cli: Google's 2018 BERT workflow, on today's TensorFlow, as command-line programs."""

__version__ = "0.1.0"
