"""Conversion and export of models: other checkpoint formats, SavedModel, tensorflow-hub, ONNX."""
