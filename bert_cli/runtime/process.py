"""What this process is."""


class _Process:
    # One of our commands, where the packages are ours to choose; else somebody's program that calls
    # us.
    is_command = False


PROCESS = _Process()
