"""Callbacks for training: history, TensorBoard, evaluation, early stopping, best checkpoint."""
