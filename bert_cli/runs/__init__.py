"""What a run of any command shares, its driver first; and what is of one task alone."""
