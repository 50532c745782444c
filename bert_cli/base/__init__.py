"""What all rooms may use: errors, files, lines, JSON, names, marks and the columns of batches. No
TensorFlow.
"""
