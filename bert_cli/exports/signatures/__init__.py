"""SavedModels with the tokenizer inside, a module per head, and ONNX and TFLite files of token ids."""
