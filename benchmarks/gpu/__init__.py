"""`make check-gpu`: what the first minutes with a GPU are for. See benchmarks.gpu.__main__."""
