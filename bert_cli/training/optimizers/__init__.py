"""Adam without bias correction as Google's, LAMB, Nadam; learning-rate schedule and multipliers."""
