"""Label cells of a user's table into problem type, label names and labels. No TensorFlow."""
