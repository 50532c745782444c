"""What happens during training besides the updates: history, TensorBoard, evaluation, early
stopping, the best checkpoint.
"""
