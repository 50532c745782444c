"""Optimizers (Google's Adam, LAMB, Nadam), learning-rate schedules, and rates per variable."""
