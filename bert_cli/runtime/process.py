"""What this process is."""


class _Process:
    # One of our commands, where the packages are ours to choose; else somebody's program that calls
    # us.
    is_command = False
    # The output_dir in which this process has begun to train, or goes on; None before.
    training_folder: str | None = None


PROCESS = _Process()
