"""`make check-gpu`: checks for the first minutes with a GPU, see benchmarks.gpu.__main__."""
