"""What happens during a training beside its updates: history, TensorBoard, evaluation, early stopping, the best checkpoint."""
